// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/config_llama.h"

namespace draftline::config {

void read_gated(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.intermediate = needed(in, {"intermediate_size"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_activation(in, "hidden_act", {"silu", "swish"});
  read_rope(in, s);
}

void read_like_llama(const Reader& in, const Defaults& d, ConfigNetwork& s) {
  read_gated(in, s);
  read_heads(in, s, d.kv_heads_may_lack);
  read_head_dim(in, s, "head_dim", d.head_dim);
  read_positions(in, d.positions, s);
  read_epsilon(in, "rms_norm_eps", d.epsilon, s);
  read_tied(in, false, s);
}

}  // namespace draftline::config
