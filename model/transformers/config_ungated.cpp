// SPDX-License-Identifier: Apache-2.0
// Networks whose MLPs have no gate: StarCoder 2, GPT-NeoX (Pythia) and OPT. Keys and defaults are those of transformers
// 5.24. They can be priced; their weights can't be loaded.
#include "core/int_indexed.h"
#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"

namespace draftline::config {

namespace {

// Two matrices, LayerNorm, and biases everywhere or nowhere.
void read_ungated(const Reader& in, std::string_view columns, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.intermediate = needed(in, {columns}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  s.mlp = MlpKind::gelu;
  s.whole.norm = NormKind::layer;
}

void read_all_biases(const Reader& in, std::string_view key, ConfigNetwork& s) {
  s.attention.qkv_bias = s.attention.o_bias = s.mlp_bias = flag(in, key, true);
}

void read_equal_heads(const Reader& in, ConfigNetwork& s) {
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(in, {"num_attention_heads"}, kMostColumns);
  read_head_dim(in, s);
}

}  // namespace

void read_starcoder2(const Reader& in, ConfigNetwork& s) {
  read_ungated(in, "intermediate_size", s);
  read_activation(in, "hidden_act", {"gelu_pytorch_tanh", "gelu"});
  demand_word(in, "mlp_type", "default", "only the MLP of two matrices (default) is modelled");
  demand_word(in, "norm_type", "layer_norm", "only LayerNorm is modelled for this architecture");
  read_heads(in, s, false);
  read_head_dim(in, s);
  read_rope(in, s);
  read_positions(in, 4096, s);
  read_epsilon(in, "norm_epsilon", 1e-5, s);
  read_tied(in, true, s);
  read_all_biases(in, "use_bias", s);
  read_sliding_window(in, {}, s);
}

void read_gpt_neox(const Reader& in, ConfigNetwork& s) {
  read_ungated(in, "intermediate_size", s);
  read_activation(in, "hidden_act", {"gelu", "gelu_new", "gelu_fast"});
  read_equal_heads(in, s);
  s.rotary_share = 0.25;
  if (const auto share = given(in, "rotary_pct")) s.rotary_share = share->number(1e-3, 1);
  if (const auto theta = given(in, "rotary_emb_base")) s.attention.rope.theta = read_theta(*theta);
  read_rope(in, s);
  read_positions(in, 2048, s);
  read_epsilon(in, "layer_norm_eps", 1e-5, s);
  read_tied(in, false, s);
  read_all_biases(in, "attention_bias", s);
  s.mlp_bias = true;
  s.base.parallel = flag(in, "use_parallel_residual", true);
}

void read_opt(const Reader& in, ConfigNetwork& s) {
  read_ungated(in, "ffn_dim", s);
  read_activation(in, "activation_function", {"relu", "gelu"});
  read_equal_heads(in, s);
  demand(in, "do_layer_norm_before", true, "norms behind the sublayers are not modelled for this architecture");
  refuse(in, "_remove_final_layer_norm", "a model without its final norm is not modelled");
  demand(in, "layer_norm_elementwise_affine", true, "norms without weights are not modelled");
  const auto projected = given(in, "word_embed_proj_dim");
  if (projected && projected->positive_int(kMostColumns) != s.whole.hidden)
    projected->fail("an embedding that is narrower than the layers is not modelled");
  read_positions(in, 2048, s);
  s.whole.norm_epsilon = 1e-5;
  read_tied(in, true, s);
  read_all_biases(in, "enable_bias", s);
  if (in.failed()) return;
  s.layer_kinds.assign(at(s.layers), {.rope = false});
  s.whole.notes.push_back("its table of positions, max_positions x hidden, is not counted");
}

}  // namespace draftline::config
