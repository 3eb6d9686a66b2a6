// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer's sublayers, kind by kind.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "model/transformers/layer_shape.h"

namespace draftline {

using StoredParts = std::vector<StoredPart>;
using StoredWeights = std::vector<StoredWeight>;

// The architecture of a network, and the names that its tensors have.
struct Architecture {
  std::string_view name;
  bool is(std::string_view other) const { return name == other; }
  bool begins(std::string_view other) const { return name.starts_with(other); }
  bool llama4() const { return begins("Llama4"); }
  bool falcon() const { return is("FalconH1ForCausalLM"); }
  bool granite() const { return begins("GraniteMoe"); }
  bool one_sublayer() const { return is("NemotronHForCausalLM"); }  // in a layer; all kinds have the same names
  // Whether the columns that rope rotates together are stored side by side, in all of a head.
  bool pairs_heads() const { return llama4() || begins("Ernie"); }

  std::string embedding() const { return one_sublayer() ? "embeddings.weight" : "embed_tokens.weight"; }
  std::string final_norm() const { return one_sublayer() ? "norm_f" : falcon() ? "final_layernorm" : "norm"; }
  std::string attention() const { return one_sublayer() ? "mixer." : "self_attn."; }
  std::string state_space() const { return one_sublayer() ? "mixer." : "mamba."; }
  std::string mlp() const {
    if (one_sublayer()) return "mixer.";
    if (granite()) return "shared_mlp.";
    return llama4() || falcon() ? "feed_forward." : "mlp.";
  }
  std::string down() const { return granite() ? "output_linear.weight" : "down_proj.weight"; }
  std::string attention_norm() const { return one_sublayer() ? "norm" : "input_layernorm"; }
  std::string mlp_norm(bool norms_behind) const {
    if (one_sublayer()) return "norm";
    if (falcon()) return "pre_ff_layernorm";
    return norms_behind ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  }
};

// A layer, and what the names of its weights and of its tensors begin with.
struct StoredLayer {
  const CheckpointFiles& files;
  Architecture architecture;
  const LayerShape& shape;
  std::string ours, theirs;
  int inputs() const { return shape.inputs.value_or(shape.hidden); }
  bool pairs_heads() const { return architecture.pairs_heads() || files.pairs_heads(); }
  StoredWeight norm(const std::string& own, const std::string& tensor, int n) const {
    return stored_norm(architecture.name, ours + own, theirs + tensor, n);
  }
};

// Rows of a stored matrix whose groups of rows, one for each head or so, hold several of ours one after the other: the
// part of each group that begins at `from`.
struct RowGroups {
  std::string tensor;
  int in, count, rows_each;
};
void add_groups(StoredParts&, const RowGroups&, int from, int rows);

void add_recurrence(const DeltaNet&, const StoredLayer&, StoredWeights&);
void add_recurrence(const Mamba2&, const StoredLayer&, StoredWeights&);

}  // namespace draftline
