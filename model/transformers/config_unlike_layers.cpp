// SPDX-License-Identifier: Apache-2.0
// Networks whose layers differ in more than their kind of attention: DeciLM (Nemotron-Super-49B, -Ultra-253B), of whose
// layers a search left out or narrowed parts, and Step-3.5 and 3.7. Keys are those of DeciLM's own repository, and of
// Step3p7TextConfig (transformers 5.24) and the published files.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

// Columns of an MLP: a multiple of the hidden size, by two thirds for its three matrices, rounded up to 256.
int columns_of(double multiple, int hidden) {
  const double columns = std::floor(2 * multiple * hidden / 3);
  return static_cast<int>(std::min(256 * std::ceil(columns / 256), 1.0 * kMostColumns));
}

void refuse_part(const Reader& part, std::string_view key) {
  const auto found = given(part, key);
  if (!found || (found->is_boolean() && !found->boolean())) return;
  found->fail("is not modelled: only parts that are left out (no_op), and their widths");
}

LayerKind read_block(const Reader& block, const ConfigNetwork& s) {
  LayerKind kind;
  const Reader attention = block.at("attention"), ffn = block.at("ffn");
  for (const char* key : {"replace_with_linear", "sparsify"}) refuse_part(attention, key), refuse_part(ffn, key);
  for (const char* key : {"window_length", "num_sink_tokens", "unshifted_sink"}) refuse_part(attention, key);
  flag(attention, "use_prefill_window_in_sink_attention", false);
  if (flag(attention, "no_op", false)) {
    kind.attention = AttentionKind::none;
  } else {
    const Reader group = attention.at("n_heads_in_group");
    const int heads = group.positive_int(kMostColumns);
    if (s.attention.heads.heads % heads != 0)
      group.fail("must divide the " + std::to_string(s.attention.heads.heads) + " heads");
    else kind.kv_heads = s.attention.heads.heads / heads;
  }
  if (flag(ffn, "no_op", false)) kind.mlp = false;
  else if (const auto columns = given(ffn, "intermediate_size"))
    kind.intermediate = columns->positive_int(kMostColumns);
  else kind.intermediate = columns_of(ffn.at("ffn_mult").number(1e-3, 1e3), s.whole.hidden);
  return kind;
}

}  // namespace

void read_decilm(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_activation(in, "hidden_act", {"silu", "swish"});
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(in, {"num_attention_heads"}, kMostColumns);
  read_head_dim(in, s);
  read_rope(in, s);
  read_positions(in, 131072, s);
  read_epsilon(in, "rms_norm_eps", 1e-5, s);
  read_tied(in, false, s);
  refuse(in, "attention_bias", "a bias in the attention is not modelled for this architecture");
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
  const Reader blocks = in.at("block_configs");
  if (in.failed() || !one_for_each_layer(blocks, count(blocks.items()), s)) return;
  for (const Reader& block : blocks.items()) {
    const LayerKind kind = read_block(block, s);
    if (in.failed()) return;
    s.whole.intermediate = std::max(s.whole.intermediate, kind.intermediate.value_or(0));
    if (kind.kv_heads) s.attention.heads.kv_heads = *kind.kv_heads;  // of drafters
    s.layer_kinds.push_back(kind);
  }
}

// ---- Step-3.5 and 3.7

namespace {

std::string_view present(const Reader& in, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (given(in, key)) return key;
  return *keys.begin();
}

// The layers with experts: a list of numbers, or a text of them.
void read_expert_layers(const Reader& in, ConfigNetwork& s) {
  s.layer_kinds.assign(at(s.layers), {});
  const auto listed = given(in, "moe_layers_enum");
  if (!listed) {
    const auto dense = given(in, "first_k_dense_replace");
    const int first = dense ? dense->integer(0, s.layers) : std::min(3, s.layers);
    for (int i = first; i < s.layers; ++i) s.layer_kinds[at(i)].experts = true;
    return;
  }
  const auto add = [&](int layer) {
    if (layer >= 0 && layer < s.layers) s.layer_kinds[at(layer)].experts = true;  // further ones: of MTP modules
  };
  if (listed->is_array()) {
    for (const Reader& one : listed->items()) add(one.integer(0, kMostLayers));
    return;
  }
  std::istringstream text(listed->text());
  for (std::string one; std::getline(text, one, ',');) {
    const auto digits = one.find_first_not_of("0123456789 ");
    if (digits != std::string::npos || one.size() > 6 || one.find_first_of("0123456789") == std::string::npos)
      return listed->fail("must be numbers of layers, \"3,4,5\"");
    add(std::stoi(one));
  }
}

// The file has a word for each layer, and further ones for its MTP modules.
void read_step_windows(const Reader& in, ConfigNetwork& s) {
  const auto types = given(in, "layer_types");
  if (!types) return;
  static constexpr std::array<std::string_view, 2> words{"full_attention", "sliding_attention"};
  const auto all = types->items();
  if (count(all) < s.layers)
    return types->fail("must have a word for each of the " + std::to_string(s.layers) + " layers");
  bool any = false;
  for (int i = 0; i < count(all); ++i) {
    const bool slides = all[at(i)].word(words) == words[1];
    any = any || slides;
    if (i < s.layers && slides) s.layer_kinds[at(i)].attention = AttentionKind::sliding;
    if (i == s.layers) s.mtp_layer = LayerKind{.attention = slides ? AttentionKind::sliding : AttentionKind::full};
  }
  if (any) s.window = needed(in, {"sliding_window"}, kMostPositions);
}

// Layers with a window may have more heads.
void read_other_heads(const Reader& in, ConfigNetwork& s) {
  AttentionHeads h = s.attention.heads;
  h.value_dim = h.head_dim;
  if (const auto other = given(in, "attention_other_setting")) {
    demand_word(*other, "attention_type", "sliding_attention", "only layers with a window may have other heads");
    h.heads = needed(*other, {"num_attention_heads"}, kMostColumns);
    if (const auto kv = given(*other, {"num_attention_groups", "num_key_value_heads"}))
      h.kv_heads = kv->positive_int(kMostColumns);
    for (const char* key : {"head_dim", "true_head_dim"})
      if (const auto columns = given(*other, key)) h.head_dim = h.value_dim = columns->positive_int(1 << 14);
  } else if (const auto heads = given(in, "num_sliding_attention_heads")) {
    h.heads = heads->positive_int(kMostColumns);
  } else {
    return;
  }
  s.windowed_heads = h;
}

}  // namespace

void read_step3(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  s.whole.intermediate = needed(in, {"intermediate_size"}, kMostColumns);
  read_activation(in, "hidden_act", {"silu"});
  s.attention.heads.heads = needed(in, {"num_attention_heads"}, kMostColumns);
  s.attention.heads.kv_heads = needed(in, {"num_attention_groups", "num_key_value_heads"}, kMostColumns);
  read_head_dim(in, s, "head_dim", 128);
  if (const auto theta = given(in, "rope_theta"); theta && theta->is_number())
    s.attention.rope.theta = read_theta(*theta);
  read_positions(in, 128000, s);
  read_epsilon(in, "rms_norm_eps", 1e-5, s);
  read_tied(in, false, s);
  refuse(in, "attention_bias", "a bias in the attention is not modelled for this architecture");
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
  s.attention.qk_norm = QkNorm::each_head;
  s.attention.gate_each_head = flag(in, "use_head_wise_attn_gate", true);
  const ExpertKeys keys{.count = present(in, {"n_routed_experts", "moe_num_experts", "num_experts"}),
                        .per_token = present(in, {"num_experts_per_tok", "moe_top_k"}),
                        .normalise = flag(in, "norm_expert_weight", true)};
  Experts e = read_experts(in, keys, s.whole.hidden);
  e.score = Experts::Score::sigmoid;
  for (const char* key : {"scoring_func", "moe_router_activation"})
    demand_word(in, key, "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  e.choice_bias = flag(in, "use_moe_router_bias", true);
  e.shared = needed(in, {"share_expert_dim", "share_expert_dims"}, kMostColumns);
  if (const auto scale = given(in, "moe_router_scaling_factor")) e.scale = scale->number(1e-6, 1e6);
  if (const auto shared = given(in, "n_shared_experts"); shared && shared->positive_int() != 1)
    shared->fail("must be 1: share_expert_dim has the columns of all");
  s.experts = e;
  if (in.failed()) return;
  read_expert_layers(in, s);
  read_other_heads(in, s);
  read_step_windows(in, s);
}

}  // namespace draftline::config
