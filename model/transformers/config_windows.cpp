// SPDX-License-Identifier: Apache-2.0
// Keys and defaults are those of transformers' configuration classes Gemma3TextConfig, GptOssConfig and
// Llama4TextConfig (4.57).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

// Published files leave out what their class has by default.
int size_or(const Reader& in, std::string_view key, int otherwise, int most) {
  const auto found = given(in, key);
  return found ? found->positive_int(most) : otherwise;
}

struct Sizes {
  int vocabulary, hidden, intermediate, layers, heads, kv_heads, head_dim;
};

void read_sizes(const Reader& in, const Sizes& d, ConfigNetwork& s) {
  s.whole.vocabulary = size_or(in, "vocab_size", d.vocabulary, kMostVocabulary);
  s.whole.hidden = size_or(in, "hidden_size", d.hidden, kMostColumns);
  s.whole.intermediate = size_or(in, "intermediate_size", d.intermediate, kMostColumns);
  s.layers = size_or(in, "num_hidden_layers", d.layers, kMostLayers);
  s.attention.heads.heads = size_or(in, "num_attention_heads", d.heads, kMostColumns);
  s.attention.heads.kv_heads = size_or(in, "num_key_value_heads", d.kv_heads, kMostColumns);
  s.attention.heads.head_dim = size_or(in, "head_dim", d.head_dim, 1 << 14);
}

void read_experts(const Reader& in, int count, int per_token, ConfigNetwork& s) {
  Experts e;
  e.count = size_or(in, "num_local_experts", count, 1 << 16);
  e.per_token = size_or(in, "num_experts_per_tok", per_token, 1 << 16);
  e.intermediate = s.whole.intermediate;
  if (e.per_token > e.count)
    in.fail("num_experts_per_tok must be at most num_local_experts, " + std::to_string(e.count));
  if (too_many_rows(e, s.whole.hidden)) in.fail(kTooManyRows);
  s.experts = e;
}

// Layers with a window are told from the others by what they have besides, so that none may fill the whole text.
bool narrower_than_text(const Reader& in, int window, const ConfigNetwork& s) {
  if (window < *s.whole.max_positions) return true;
  in.fail("sliding_window must be less than max_position_embeddings, " + std::to_string(*s.whole.max_positions));
  return false;
}

}  // namespace

void read_gemma3(const Reader& in, ConfigNetwork& s) {
  read_sizes(in, {262208, 2304, 9216, 26, 8, 4, 256}, s);
  read_activation(in, "hidden_activation", {"gelu_pytorch_tanh"});
  s.mlp = MlpKind::gated_gelu;
  s.attention.rope.theta = 1e6;
  s.window_rope = WindowRope{};
  if (const auto local = given(in, "rope_local_base_freq")) s.window_rope->theta = read_theta(*local);
  read_rope(in, s);
  read_positions(in, 131072, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, true, s);
  read_biases(in, s);
  s.attention.qk_norm = QkNorm::each_head;
  s.base.norms = NormPlacement::both;
  s.whole.embedding_scale = std::sqrt(1.0 * s.whole.hidden);
  const auto scalar = given(in, "query_pre_attn_scalar");
  s.attention.query_scale = 1 / std::sqrt(scalar ? scalar->number(1e-3, 1e9) : 256);
  for (const auto key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (const auto cap = given(in, key)) cap->fail("capped scores are not modelled");
  refuse(in, "use_bidirectional_attention", "attention in both directions is not modelled");
  const auto listed = given(in, {"sliding_window_pattern", "_sliding_window_pattern"});
  const int pattern = listed ? listed->positive_int(kMostLayers) : 6;
  read_layer_types(
      in, AttentionKind::sliding, size_or(in, "sliding_window", 4096, kMostPositions),
      [pattern](int layer) { return (layer + 1) % pattern != 0; }, s);
  if (s.window == 0) s.window_rope.reset();
}

// Published files name what layers without a window have; transformers 5.23 writes it for each of them.
static AttentionHeads read_global_heads(const Reader& in, const ConfigNetwork& s) {
  const AttentionHeads& usual = s.attention.heads;
  AttentionHeads h = usual;
  h.head_dim = size_or(in, "global_head_dim", 512, 1 << 14);
  const int kv_heads = size_or(in, "num_global_key_value_heads", h.kv_heads, kMostColumns);
  if (h.values_are_keys) h.kv_heads = kv_heads;
  const auto each = given(in, "per_layer_config");
  if (!each || in.failed()) return h;
  std::optional<AttentionHeads> said;
  for (int i = 0; i < s.layers; ++i) {
    const auto own = given(*each, std::to_string(i));
    AttentionHeads one = usual;
    if (own) {
      one.head_dim = size_or(*own, "head_dim", usual.head_dim, 1 << 14);
      one.kv_heads = size_or(*own, "num_key_value_heads", usual.kv_heads, kMostColumns);
      for (const auto& [key, value] : own->json().items())
        if (key != "head_dim" && key != "num_key_value_heads") own->at(key).fail("is not modelled for single layers");
    }
    const bool whole = s.kind(i).attention == AttentionKind::full;
    if (whole ? said && *said != one : one != usual)
      (own ? *own : *each).fail("differences between layers of one kind are not modelled");
    if (whole) said = one;
  }
  return said.value_or(h);
}

// transformers 5.23: Gemma4TextConfig, and Gemma4UnifiedTextConfig, which has no embeddings of each layer's own.
void read_gemma4(const Reader& in, ConfigNetwork& s) {
  read_sizes(in, {262144, 2304, 9216, 30, 8, 4, 256}, s);
  read_activation(in, "hidden_activation", {"gelu_pytorch_tanh"});
  const auto type = given(in, "model_type");
  const bool unified = type && type->text().starts_with("gemma4_unified");
  const auto own = given(in, "hidden_size_per_layer_input");
  if (own ? own->integer(0, kMostColumns) > 0 : !unified && !in.has("hidden_size_per_layer_input"))
    (own ? *own : in).fail("embeddings per layer (hidden_size_per_layer_input) are not modelled");
  if (const auto shared = given(in, "num_kv_shared_layers"); shared && shared->integer(0, kMostLayers) > 0)
    shared->fail("layers that share keys and values are not modelled");
  refuse(in, "use_double_wide_mlp", "layers whose MLPs differ in width are not modelled");
  if (const auto both = given(in, "use_bidirectional_attention"); both && both->text() != "vision")
    both->fail("attention in both directions is not modelled");
  s.mlp = MlpKind::gated_gelu;
  s.attention.rope.theta = 1e6;
  s.window_rope = WindowRope{};
  if (given(in, "rope_parameters")) read_rope(in, s);
  else s.attention.rope.scaling = RopeScaling{.kind = RopeScaling::Kind::proportional, .turned = 0.25};
  read_positions(in, unified ? 262144 : 131072, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, true, s);
  read_biases(in, s);
  s.attention.qk_norm = QkNorm::each_head;
  s.attention.value_norm = s.base.scaled = true;
  s.base.norms = NormPlacement::both;
  s.whole.embedding_scale = std::sqrt(1.0 * s.whole.hidden);
  s.attention.query_scale = 1;
  if (const auto cap = given(in, "final_logit_softcapping")) s.whole.logit_cap = cap->number(1e-3, 1e6);
  if (flag(in, "enable_moe_block", false)) {
    s.experts = read_experts(in, {.count = "num_experts", .per_token = "top_k_experts"}, s.whole.hidden);
    s.experts->normalise = s.experts_beside_mlp = true;
  }
  s.attention.heads.values_are_keys = flag(in, "attention_k_eq_v", false);
  const int window = size_or(in, "sliding_window", unified ? 1024 : 512, kMostPositions);
  if (in.failed() || !narrower_than_text(in, window, s)) return;
  read_layer_types(
      in, AttentionKind::sliding, window, [&](int layer) { return (layer + 1) % 6 != 0 && layer + 1 != s.layers; }, s);
  if (in.failed()) return;
  if (s.kind(s.layers - 1).attention != AttentionKind::full)
    return in.at("layer_types")
        .fail("the last layer must be full_attention, because it always attends to the whole text");
  const AttentionHeads global = read_global_heads(in, s);
  AttentionHeads& heads = s.attention.heads;
  if (s.window == 0) s.window_rope.reset();
  else s.windowed_heads = AttentionHeads{heads.heads, heads.kv_heads, heads.head_dim, heads.head_dim};
  heads = global;
}

void read_gpt_oss(const Reader& in, ConfigNetwork& s) {
  read_sizes(in, {201088, 2880, 2880, 36, 64, 8, 64}, s);
  read_activation(in, "hidden_act", {"silu"});
  s.attention.rope.theta = 150000;
  read_rope(in, s);
  if (!in.has("rope_scaling") && !in.has("rope_parameters"))
    s.attention.rope.scaling = RopeScaling{.kind = RopeScaling::Kind::yarn,
                                           .factor = 32,
                                           .original_context = 4096,
                                           .whole_columns = false,
                                           .attention_factor = 0.1 * std::log(32) + 1};
  read_positions(in, 131072, s);
  read_epsilon(in, "rms_norm_eps", 1e-5, s);
  read_tied(in, false, s);
  s.attention.qkv_bias = s.attention.o_bias = flag(in, "attention_bias", true);
  s.attention.sinks = true;
  s.mlp = MlpKind::clamped_swiglu;
  if (const auto limit = given(in, "swiglu_limit"); limit && limit->number(0, 1e6) != 7)
    limit->fail("only a limit of 7 is modelled");
  read_experts(in, 128, 4, s);
  s.whole.intermediate = 0;  // no layer has an MLP without experts
  s.experts->score = Experts::Score::softmax_of_chosen;
  s.experts->bias = true;
  read_layer_types(
      in, AttentionKind::sliding, size_or(in, "sliding_window", 128, kMostPositions),
      [](int layer) { return layer % 2 == 0; }, s);
}

// Tells which of the layer kinds have no rope: every fourth, every "no_rope_layer_interval", or those listed.
static void read_no_rope_layers(const Reader& in, ConfigNetwork& s) {
  const int interval = size_or(in, "no_rope_layer_interval", 4, kMostLayers);
  for (std::size_t i = 0; i < s.layer_kinds.size(); ++i) s.layer_kinds[i].rope = (i + 1) % at(interval) != 0;
  const auto listed = given(in, "no_rope_layers");
  if (!listed || listed->items().empty()) return;
  const auto flags = listed->items();  // 1: the layer has rope, for all that the key says
  if (!one_for_each_layer(*listed, count(flags), s)) return;
  for (std::size_t i = 0; i < flags.size(); ++i) s.layer_kinds[i].rope = flags[i].integer(0, 1) == 1;
}

void read_smollm3(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 32768, .epsilon = 1e-6, .theta = 2e6}, s);
  read_biases(in, s);
  read_tied(in, true, s);
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
  if (in.failed()) return;
  s.layer_kinds.assign(at(s.layers), {});
  read_no_rope_layers(in, s);
  if (in.failed()) return;
  const auto tokens = flag(in, "use_sliding_window", false) ? read_window(in, {}) : std::nullopt;
  const std::vector<LayerKind> kinds = s.layer_kinds;
  read_layer_types(
      in, AttentionKind::sliding, tokens, [&](int layer) { return !kinds[at(layer)].rope; }, s);
}

static void read_olmo(const Reader& in, double theta, ConfigNetwork& s) {
  read_like_llama(
      in, {.kv_heads_may_lack = true, .positions = 2048, .epsilon = 1e-5, .theta = theta, .qk_norm = QkNorm::all_heads},
      s);
  read_biases(in, s);
  s.base.norms = NormPlacement::behind;
}

void read_olmo2(const Reader& in, ConfigNetwork& s) { read_olmo(in, 10000, s); }

void read_olmo3(const Reader& in, ConfigNetwork& s) {
  read_olmo(in, 500000, s);
  if (!s.window_rope)
    s.window_rope = WindowRope{s.attention.rope.theta};  // "rope_scaling" is of layers without a window
  read_layer_types(
      in, AttentionKind::sliding, read_window(in, 4096), [](int layer) { return (layer + 1) % 4 != 0; }, s);
  if (s.window == 0) s.window_rope.reset();
}

// Beside layers with a window, those that see the whole text have no rope.
void read_exaone4(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 2048, .epsilon = 1e-5, .qk_norm = QkNorm::each_head}, s);
  s.base.norms = NormPlacement::behind;
  const auto listed = given(in, "sliding_window_pattern");
  const std::optional<int> tokens = read_window(in, 4096);
  if (!tokens || in.failed()) return;
  int pattern = 4;
  if (listed && listed->is_number()) pattern = listed->positive_int(kMostLayers);
  else if (listed && !given(in, "layer_types")) listed->fail("must be a number, or \"layer_types\" must be given");
  if (!narrower_than_text(in, *tokens, s)) return;
  read_layer_types(
      in, AttentionKind::sliding, tokens, [pattern](int layer) { return (layer + 1) % pattern != 0; }, s);
  for (LayerKind& kind : s.layer_kinds) kind.rope = kind.attention == AttentionKind::sliding;
}

// A published file tells by 0 and 1 which layers have something: one entry for each layer.
static std::vector<bool> read_pattern(const Reader& in, const ConfigNetwork& s) {
  std::vector<bool> has;
  for (const Reader& entry : in.items()) has.push_back(entry.integer(0, 1) == 1);
  one_for_each_layer(in, count(has), s);
  return has;
}

// Files as published name what layers with a window have; those that transformers wrote have a rule for it.
static AttentionHeads read_windowed_heads(const Reader& in, const ConfigNetwork& s) {
  return {.heads = size_or(in, "swa_num_attention_heads", s.attention.heads.heads, kMostColumns),
          .kv_heads = size_or(in, "swa_num_key_value_heads", 2 * s.attention.heads.kv_heads, kMostColumns),
          .head_dim = size_or(in, "swa_head_dim", s.attention.heads.head_dim, 1 << 14),
          .value_dim = size_or(in, "swa_v_head_dim", s.attention.heads.value_dim, 1 << 14)};
}

// transformers 5.23: MiMoV2FlashConfig; the keys of published files: modeling of XiaomiMiMo/MiMo-V2-Flash.
void read_mimo_v2_flash(const Reader& in, ConfigNetwork& s) {
  s.rotary_share = 0.334;
  read_like_llama(in, {.positions = 131072, .epsilon = 1e-5, .head_dim = 192, .theta = 5e6}, s);
  read_epsilon(in, in.has("layernorm_epsilon") ? "layernorm_epsilon" : "rms_norm_eps", 1e-5, s);
  s.attention.heads.value_dim = size_or(in, "v_head_dim", 128, 1 << 14);
  s.attention.qkv_bias = flag(in, "attention_bias", false);
  const auto scale = given(in, "attention_value_scale");
  s.attention.value_scale = scale ? scale->number(1e-6, 1e6) : in.has("attention_value_scale") ? 1 : 0.707;
  refuse(in, "add_full_attention_sink_bias", "sinks in layers without a window are not modelled for this architecture");
  read_experts_with_bias(in, 1, s, 1);
  demand_word(in, "scoring_func", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  demand_word(in, "topk_method", "noaux_tc",
              "only the choice with a bias (noaux_tc) is modelled for this architecture");
  if (in.failed()) return;
  if (const auto sparse = given(in, "moe_layer_freq")) {
    s.layer_kinds.clear();
    for (const bool experts : read_pattern(*sparse, s)) s.layer_kinds.push_back({.experts = experts});
  }
  std::vector<bool> windowed;
  if (const auto pattern = given(in, "hybrid_layer_pattern")) windowed = read_pattern(*pattern, s);
  if (in.failed()) return;
  std::optional<int> tokens = read_window(in, 129);
  if (const auto before = given(in, "sliding_window_size")) tokens = before->positive_int(kMostPositions - 1) + 1;
  if (!tokens) return in.at("sliding_window").fail("must be given");
  if (!narrower_than_text(in, *tokens, s)) return;
  read_layer_types(
      in, AttentionKind::sliding, tokens,
      [&](int i) { return windowed.empty() ? i != 0 && (i + 1) % 6 != 0 : windowed[at(i)]; }, s);
  if (s.window == 0) return s.window_rope.reset();
  s.windowed_heads = read_windowed_heads(in, s);
  s.windowed_sinks = flag(in, "add_swa_attention_sink_bias", true);
  if (const auto theta = given(in, "swa_rope_theta")) s.window_rope = {read_theta(*theta), s.rotary_share};
  if (!s.window_rope) s.window_rope = {10000, s.rotary_share};
  s.mtp_layer = LayerKind{.attention = AttentionKind::sliding};
}

void read_llama4(const Reader& in, ConfigNetwork& s) {
  read_sizes(in, {202048, 5120, 8192, 48, 40, 8, 128}, s);
  read_activation(in, "hidden_act", {"silu"});
  s.attention.rope.theta = 500000;
  read_rope(in, s);
  read_positions(in, 4096 * 32, s);
  read_epsilon(in, "rms_norm_eps", 1e-5, s);
  read_tied(in, false, s);
  read_biases(in, s);
  s.rotated_qk_norm = flag(in, "use_qk_norm", true);
  const auto tuning = given(in, "attn_temperature_tuning");  // earlier files say 4 for yes
  if (!tuning || (tuning->is_number() ? tuning->number(0, 1e6) > 0 : tuning->boolean())) {
    const auto every = given(in, "floor_scale"), scale = given(in, "attn_scale");
    s.attention.rope.growth = QueryGrowth{every ? every->number(1, 1e9) : 8192, scale ? scale->number(0, 100) : 0.1};
  }
  read_experts(in, 16, 1, s);
  s.experts->score = Experts::Score::sigmoid;
  s.experts->normalise = false;
  s.experts->weighs_inputs = true;
  s.experts->shared = s.whole.intermediate;
  s.whole.intermediate = size_or(in, "intermediate_size_mlp", 16384, kMostColumns);
  if (in.failed()) return;

  const int step = size_or(in, "interleave_moe_layer_step", 1, kMostLayers);
  for (int i = 0; i < s.layers; ++i) s.layer_kinds.push_back({.experts = (i + 1) % step == 0});
  if (const auto listed = given(in, "moe_layers")) {
    for (LayerKind& kind : s.layer_kinds) kind.experts = false;
    for (const auto& layer : listed->items()) {
      const int index = layer.integer(0, s.layers - 1);
      if (!in.failed()) s.layer_kinds[at(index)].experts = true;
    }
  }
  read_no_rope_layers(in, s);
  if (in.failed()) return;
  const auto chunk = given(in, "attention_chunk_size");
  std::optional<int> tokens = 8192;
  if (chunk || in.has("attention_chunk_size"))
    tokens = chunk ? std::optional(chunk->positive_int(kMostPositions)) : std::nullopt;
  const std::vector<LayerKind> kinds = s.layer_kinds;
  read_layer_types(
      in, AttentionKind::chunked, tokens, [&](int layer) { return kinds[at(layer)].rope; }, s);
}

}  // namespace draftline::config
