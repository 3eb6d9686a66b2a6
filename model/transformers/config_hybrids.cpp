// SPDX-License-Identifier: Apache-2.0
// Keys and their defaults are those of Qwen3NextConfig, Qwen3_5TextConfig and Qwen3_5MoeTextConfig (transformers 5.2),
// and of the configuration classes in moonshotai/Kimi-Linear-48B-A3B-Instruct and moonshotai/Kimi-K3.
#include <algorithm>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

int or_default(const Reader& in, std::string_view key, int otherwise) {
  const auto found = given(in, key);
  return found ? found->positive_int(kMostColumns) : otherwise;
}

void read_delta_net(const Reader& in, ConfigNetwork& s) {
  DeltaNet d{.key_heads = or_default(in, "linear_num_key_heads", 16),
             .value_heads = or_default(in, "linear_num_value_heads", 32),
             .key_dim = or_default(in, "linear_key_head_dim", 128),
             .value_dim = or_default(in, "linear_value_head_dim", 128),
             .kernel = or_default(in, "linear_conv_kernel_dim", 4)};
  if (const auto state = given(in, "mamba_ssm_dtype")) {
    const std::string format = state->text();
    if (format == "float32") d.state = DType::fp32;
    else if (format != "bfloat16" && format != "float16")
      state->fail("a state in \"" + format + "\" is not modelled; known: float32, bfloat16, float16");
  }
  const auto too_many = [&](double columns) { return columns > kMostColumns; };
  if (d.value_heads % d.key_heads != 0)
    in.fail("the " + std::to_string(d.value_heads) + " value heads of its delta networks are not a multiple of their " +
            std::to_string(d.key_heads) + " key heads");
  if (too_many(1.0 * d.key_heads * d.key_dim) || too_many(1.0 * d.value_heads * d.value_dim) ||
      too_many(1.0 * d.key_dim * d.value_dim) || d.kernel < 2)
    in.fail("the sizes of its delta networks are out of range");
  s.delta_net = d;
}

// Every `full_attention_interval`-th layer attends, unless each layer's type is given.
void read_layers(const Reader& in, ConfigNetwork& s) {
  s.layer_kinds.assign(at(s.layers), LayerKind{.experts = s.experts.has_value()});
  if (const auto types = given(in, "layer_types")) {
    const auto all = types->items();
    if (!one_for_each_layer(*types, count(all), s)) return;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto word = all[i].text();
      if (word == "linear_attention") s.layer_kinds[i].attention = AttentionKind::delta_net;
      else if (word != "full_attention")
        all[i].fail("layer type \"" + word + "\" is not modelled; known: full_attention, linear_attention");
    }
  } else {
    const int interval = or_default(in, "full_attention_interval", 4);
    for (int i = 0; i < s.layers; ++i)
      if ((i + 1) % interval != 0) s.layer_kinds[at(i)].attention = AttentionKind::delta_net;
  }
  const auto attends = [](const LayerKind& kind) { return kind.attention != AttentionKind::delta_net; };
  if (std::none_of(s.layer_kinds.begin(), s.layer_kinds.end(), attends))
    in.fail("no layer has attention; networks with only delta networks are not modelled");
}

void read_experts_and_shared(const Reader& in, ConfigNetwork& s) {
  Experts e = read_experts(in, {.count = "num_experts", .normalise = true}, s.whole.hidden);
  e.shared = needed(in, {"shared_expert_intermediate_size"}, kMostColumns);
  e.shared_gate = true;
  s.experts = e;
}

// What all of them share.
void read_hybrid(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_activation(in, "hidden_act", {"silu", "swish"});
  s.rotary_share = 0.25;
  read_rope(in, s);
  read_heads(in, s, false);
  read_head_dim(in, s, "head_dim", 256);
  read_positions(in, 32768, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  refuse(in, "attention_bias", "a bias in the attention is not modelled for this architecture");
  demand(in, "attn_output_gate", true, "attention without an output gate is not modelled for this architecture");
  s.attention.qk_norm = QkNorm::each_head;
  s.attention.output_gate = true;
  read_delta_net(in, s);
}

}  // namespace

void read_qwen3_next(const Reader& in, ConfigNetwork& s) {
  read_hybrid(in, s);
  s.whole.intermediate = needed(in, {"intermediate_size"}, kMostColumns);
  if (in.failed()) return;
  read_experts_and_shared(in, s);
  if (const auto step = given(in, "decoder_sparse_step"); step && step->positive_int() != 1)
    step->fail("layers with and without experts in one hybrid network are not modelled; must be 1");
  if (const auto dense = given(in, "mlp_only_layers"); dense && !dense->items().empty())
    dense->fail("layers with and without experts in one hybrid network are not modelled; must be empty");
  read_layers(in, s);
  read_tied(in, false, s);
}

void read_qwen3_5(const Reader& in, ConfigNetwork& s) {
  read_hybrid(in, s);
  s.whole.intermediate = needed(in, {"intermediate_size"}, kMostColumns);
  if (in.failed()) return;
  read_layers(in, s);
  read_tied(in, false, s);
}

void read_qwen3_5_moe(const Reader& in, ConfigNetwork& s) {
  read_hybrid(in, s);
  if (in.failed()) return;
  read_experts_and_shared(in, s);
  // No layer has a dense MLP; a drafter's is as wide as what a token passes.
  s.whole.intermediate = s.experts->per_token * s.experts->intermediate + s.experts->shared;
  read_layers(in, s);
  read_tied(in, false, s);
}

// Layers are counted from 1.
static void read_kimi_layers(const Reader& in, const Reader& linear, ConfigNetwork& s) {
  if (s.layer_kinds.empty()) s.layer_kinds.assign(at(s.layers), LayerKind{.experts = s.experts.has_value()});
  std::size_t named = linear.at("full_attn_layers").size();
  for (const Reader& layer : linear.at("kda_layers").items()) {
    const int number = layer.integer(1, s.layers);
    if (in.failed()) return;
    s.layer_kinds[at(number - 1)].attention = AttentionKind::delta_net;
    ++named;
  }
  if (named != at(s.layers)) linear.fail("names " + std::to_string(named) + " layers of " + std::to_string(s.layers));
}

static DeltaNet read_kimi_delta(const Reader& linear) {
  const int heads = needed(linear, {"num_heads"}, 1 << 12), columns = needed(linear, {"head_dim"}, 1 << 10);
  return {.key_heads = heads,
          .value_heads = heads,
          .key_dim = columns,
          .value_dim = columns,
          .kernel = or_default(linear, "short_conv_kernel_size", 4),
          .state = DType::fp32,  // vLLM: MambaStateDtypeCalculator.kda_state_dtype
          .column_gates = DeltaNet::ColumnGates{columns, flag(linear, "use_full_rank_gate", false)}};
}

void read_kimi_linear(const Reader& in, ConfigNetwork& s) {
  const bool k3 = given(in, "routed_expert_hidden_size").has_value();
  read_latent(in, s, k3 ? "situ" : "silu");
  if (in.failed()) return;
  read_experts_with_bias(in, 1, s, 0, {.count = "num_experts", .per_token = "num_experts_per_token"});
  s.experts->normalise = flag(in, "moe_renormalize", true);
  demand_word(in, "moe_router_activation_func", "sigmoid",
              "only experts with sigmoid scores are modelled for this architecture");
  if (k3) s.experts->latent = in.at("routed_expert_hidden_size").positive_int(kMostColumns);
  demand(in, "mla_use_nope", true, "latent attention whose keys are rotated is not modelled for this architecture");
  s.latent_output_gate = flag(in, "mla_use_output_gate", false);
  const Reader linear = in.at("linear_attn_config");
  if (k3 && !in.has("mla_use_output_gate")) in.note("lacks \"mla_use_output_gate\": no gate is assumed");
  if (k3 && !linear.has("use_full_rank_gate"))
    linear.note("lacks \"use_full_rank_gate\": gates of a low rank are assumed");
  s.delta_net = read_kimi_delta(linear);
  read_kimi_layers(in, linear, s);
  if (const auto blocks = given(in, "attn_res_block_size"))
    note_unpriced(*blocks, s,
                  "attention over the outputs of blocks of " + std::to_string(blocks->positive_int()) +
                      " layers is not priced: it reads a few rows for each token");
}

// ---- Ling and Ring. Every so many layers one attends, and so do the last if the groups do not cover them; the file
// may have a word for each layer.

static constexpr std::array<std::string_view, 2> kLingLayers{"full_attention", "linear_attention"};

static void read_ling_layers(const Reader& in, AttentionKind others, ConfigNetwork& s) {
  if (s.layer_kinds.empty()) s.layer_kinds.assign(at(s.layers), LayerKind{.experts = s.experts.has_value()});
  const int group = or_default(in, "layer_group_size", 6);
  const auto types = given(in, "layer_types");
  const auto words = types ? types->items() : std::vector<Reader>{};
  if (types && !one_for_each_layer(*types, count(words), s)) return;
  for (int i = 0; i < s.layers; ++i) {
    const bool attends = types ? words[at(i)].word(kLingLayers) == kLingLayers[0]
                               : (i + 1) % group == 0 || i >= s.layers / group * group;
    if (!attends) s.layer_kinds[at(i)].attention = others;
  }
}

static void read_ling_experts(const Reader& in, double scale, int dense, ConfigNetwork& s) {
  const bool newer = given(in, "num_experts_per_token").has_value();
  read_experts_with_bias(
      in, scale, s, dense,
      {.count = "num_experts", .per_token = newer ? "num_experts_per_token" : "num_experts_per_tok"});
  for (const char* key : {"score_function", "scoring_func"})
    demand_word(in, key, "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
}

void read_bailing_hybrid(const Reader& in, ConfigNetwork& s) {
  for (const char* linear : {"group_norm_size", "linear_silu", "use_linear_silu"})
    if (given(in, linear)) return read_bailing_linear(in, s);  // an earlier network by the same name
  read_latent(in, s);
  if (in.failed()) return;
  read_ling_experts(in, 2.5, 2, s);
  const auto width = given(in, "head_dim");
  const int heads = s.attention.heads.heads, columns = width ? width->positive_int(1 << 10) : 128;
  s.delta_net = DeltaNet{.key_heads = heads,
                         .value_heads = heads,
                         .key_dim = columns,
                         .value_dim = columns,
                         .kernel = or_default(in, "short_conv_kernel_size", 4),
                         .state = DType::fp32,
                         .column_gates = DeltaNet::ColumnGates{columns, true, true}};
  s.latent_head_gates = true;
  if (!in.failed()) read_ling_layers(in, AttentionKind::delta_net, s);
}

void read_bailing_linear(const Reader& in, ConfigNetwork& s) {
  read_latent(in, s);
  if (in.failed()) return;
  read_ling_experts(in, 1, 1, s);
  refuse(in, "use_bias", "a bias in the linear layers is not modelled for this architecture");
  refuse(in, "use_qkv_bias", "a bias in the attention is not modelled for this architecture");
  const auto width = given(in, "head_dim");
  s.linear = LinearAttention{.heads = s.attention.heads.heads,
                             .head_dim = width ? width->positive_int(1 << 10) : 128,
                             .qk_norm = flag(in, "use_qk_norm", true)};
  if (!in.failed()) read_ling_layers(in, AttentionKind::linear, s);
}

}  // namespace draftline::config
