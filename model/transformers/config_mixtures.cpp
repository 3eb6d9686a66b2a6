// SPDX-License-Identifier: Apache-2.0
// Further networks that are made of known layers: Qwen1.5- and Qwen2-MoE, Phi-3.5-MoE, Ling and Ring (1 and 2), Mistral
// Small 4; and dense ones: InternLM 3 and GLM-4. Keys and defaults are those of transformers 5.24 and, for Ling, of its
// own repository. They can be priced; their weights can't be loaded.
#include <algorithm>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

void read_internlm3(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 32768, .epsilon = 1e-5, .head_dim = 128}, s);
  s.attention.qkv_bias = flag(in, "qkv_bias", flag(in, "attention_bias", false));
  s.attention.o_bias = flag(in, "bias", flag(in, "mlp_bias", false));
  if (s.attention.o_bias) in.fail("a bias in the MLP is not modelled for this architecture");
}

static void read_glm_dense(const Reader& in, ConfigNetwork& s) {
  s.rotary_share = 0.5;
  read_like_llama(in, {.positions = 131072, .epsilon = 1.5625e-7, .head_dim = 128}, s);
  s.attention.qkv_bias = flag(in, "attention_bias", true);
}

void read_glm(const Reader& in, ConfigNetwork& s) { read_glm_dense(in, s); }

void read_glm4(const Reader& in, ConfigNetwork& s) {
  read_glm_dense(in, s);
  s.base.norms = NormPlacement::both;
}

void read_qwen2_moe(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 32768, .epsilon = 1e-6}, s);
  s.attention.qkv_bias = flag(in, "qkv_bias", true);
  Experts e = read_experts(in, {.count = "num_experts"}, s.whole.hidden);
  e.shared = needed(in, {"shared_expert_intermediate_size"}, kMostColumns);
  e.shared_gate = true;
  s.experts = e;
  read_experts_everywhere(in);
  if (flag(in, "use_sliding_window", false)) read_sliding_window(in, 4096, s);
}

void read_phimoe(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 131072, .epsilon = 1e-5, .theta = 1e6}, s);
  read_biases(in, s);
  s.whole.norm = NormKind::layer;
  s.experts = read_experts(in, {.count = "num_local_experts", .intermediate = "intermediate_size", .normalise = true},
                           s.whole.hidden);
  read_sliding_window(in, {}, s);
}

// The first has softmax scores, the second those of DeepSeek-V3.
static void read_ling(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 32768, .epsilon = 1e-6, .theta = 600000}, s);
  s.attention.o_bias = flag(in, "use_bias", false);
  s.attention.qkv_bias = s.attention.o_bias || flag(in, "use_qkv_bias", false);
  refuse(in, "norm_head", "a normalised LM head is not modelled");
  if (in.failed()) return;
  const auto width = given(in, "moe_shared_expert_intermediate_size");
  read_experts_with_bias(in, 1, s, 0, {.count = "num_experts"});
  if (width && !in.failed()) {
    const auto shared = given(in, "num_shared_experts");
    s.experts->shared = width->integer(0, kMostColumns) * (shared ? shared->integer(0, 64) : 1);
  }
}

void read_bailing_moe(const Reader& in, ConfigNetwork& s) {
  read_ling(in, s);
  if (!s.experts) return;
  s.experts->score = Experts::Score::softmax;
  s.experts->choice_bias = false;
}

void read_bailing_moe_v2(const Reader& in, ConfigNetwork& s) {
  s.rotary_share = 0.5;
  read_ling(in, s);
  if (flag(in, "use_qk_norm", true)) s.attention.qk_norm = QkNorm::each_head;
  demand_word(in, "score_function", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  if (s.experts) s.experts->choice_bias = flag(in, "moe_router_enable_expert_bias", true);
}

void read_mistral4(const Reader& in, ConfigNetwork& s) {
  read_latent_sizes(in, s);
  read_experts_with_bias(in, 1, s);
  s.attention.rope.growth.reset();  // a factor on queries, which costs nothing
  s.whole.architecture = "Mistral4ForCausalLM";
  if (!s.experts) return;
  s.experts->score = Experts::Score::softmax;
  s.experts->choice_bias = false;
}

// A layer of the file is two of ours: the first has experts beside its MLP, which read the same rows; their result is
// added behind the second, which costs the same. Some choices of the router only pass a row on.
void read_longcat(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = 2 * needed(in, {"num_layers"}, kMostLayers / 2);
  s.whole.intermediate = needed(in, {"ffn_hidden_size"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_rope(in, s);
  read_latent_heads(in, s);
  Experts e = read_experts(in, {.intermediate = "expert_ffn_hidden_size", .per_token = "moe_topk"}, s.whole.hidden);
  const auto idle = given(in, "zero_expert_num");
  const int passing = idle ? idle->integer(0, 1 << 16) : 0;
  if (in.failed()) return;
  e.per_token = std::max(1, static_cast<int>(1.0 * e.per_token * e.count / (e.count + passing) + 0.5));
  e.shared = s.whole.intermediate;
  if (const auto scale = given(in, "routed_scaling_factor")) e.scale = scale->number(1e-6, 1e6);
  s.experts = e;
  for (int i = 0; i < s.layers; ++i) s.layer_kinds.push_back({.experts = i % 2 == 0});
  if (passing > 0)
    note_unpriced(
        *idle, s,
        std::to_string(passing) +
            " choices of the router pass a row on: a token is priced with the number of experts that it has if "
            "all choices are equally frequent");
}

}  // namespace draftline::config
