// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_sublayer.h"

namespace draftline {

static StoredPart convolution(const std::string& tensor, int kernel, int columns) {
  StoredPart part{tensor, kernel, columns};
  part.convolution = true;
  return part;
}

void add_recurrence(const DeltaNet& d, const StoredLayer& layer, StoredWeights& all) {
  const std::string &ours = layer.ours, theirs = layer.theirs + "linear_attn.";
  const int hidden = layer.shape.hidden, convolved = d.convolved_columns(), values = d.value_columns(),
            heads = d.value_heads;
  StoredParts qkvz, gates;
  if (layer.architecture.is("Qwen3NextForCausalLM")) {  // by key head: q, k, then v and z of its value heads; b and a
    const int group = heads / d.key_heads, v = group * d.value_dim, each = 2 * (d.key_dim + v);
    const RowGroups both{theirs + "in_proj_qkvz.weight", hidden, d.key_heads, each},
        pair{theirs + "in_proj_ba.weight", hidden, d.key_heads, 2 * group};
    add_groups(qkvz, both, 0, d.key_dim);
    add_groups(qkvz, both, d.key_dim, d.key_dim);
    add_groups(qkvz, both, 2 * d.key_dim, v);
    add_groups(qkvz, both, 2 * d.key_dim + v, v);
    add_groups(gates, pair, 0, group);
    add_groups(gates, pair, group, group);
  } else {
    qkvz = {{theirs + "in_proj_qkv.weight", hidden, convolved}, {theirs + "in_proj_z.weight", hidden, values}};
    gates = {{theirs + "in_proj_b.weight", hidden, heads}, {theirs + "in_proj_a.weight", hidden, heads}};
  }
  all.push_back(side_by_side(ours + "qkvz", hidden, convolved + values, std::move(qkvz)));
  all.push_back(side_by_side(ours + "gates", hidden, 2 * heads, std::move(gates)));
  all.push_back(side_by_side(ours + "convolution", d.kernel, convolved,
                             {convolution(theirs + "conv1d.weight", d.kernel, convolved)}));
  all.push_back(stored_vector(ours + "a_log", theirs + "A_log", heads));
  all.push_back(stored_vector(ours + "dt_bias", theirs + "dt_bias", heads));
  all.push_back(stored_vector(ours + "delta_norm", theirs + "norm.weight", d.value_dim));  // not less one
  all.push_back(stored_matrix(ours + "o", theirs + "out_proj.weight", values, hidden));
}

// The columns of gates, inputs, B, C and steps, each with its factor.
static StoredParts projected_parts(const Mamba2& m, const std::string& tensor, const LayerShape& shape) {
  const int of_groups = m.groups * m.state_dim;
  StoredParts parts;
  int row = 0;
  for (std::size_t i = 0; const int columns : {m.columns(), m.columns(), of_groups, of_groups, m.heads}) {
    add_groups(parts, {tensor, shape.hidden, 1, m.projected_columns()}, row, columns);
    parts.back().times = single(shape.factors.mamba_in[i++]);
    row += columns;
  }
  return parts;
}

void add_recurrence(const Mamba2& m, const StoredLayer& layer, StoredWeights& all) {
  const std::string ours = layer.ours + "mamba.", theirs = layer.theirs + layer.architecture.state_space();
  const int hidden = layer.shape.hidden, columns = m.columns(), convolved = m.convolved_columns();
  const auto of_heads = [&](const std::string& name, const std::string& tensor) {
    all.push_back(stored_vector(ours + name, theirs + tensor, m.heads));
  };
  all.push_back(side_by_side(ours + "in", hidden, m.projected_columns(),
                             projected_parts(m, theirs + "in_proj.weight", layer.shape)));
  all.push_back(side_by_side(ours + "convolution", m.kernel, convolved,
                             {convolution(theirs + "conv1d.weight", m.kernel, convolved)}));
  if (m.convolution_bias) all.push_back(stored_vector(ours + "convolution_bias", theirs + "conv1d.bias", convolved));
  of_heads("a_log", "A_log");
  of_heads("skip", "D");
  of_heads("dt_bias", "dt_bias");
  if (m.norm) all.push_back(stored_vector(ours + "norm", theirs + "norm.weight", columns));
  all.push_back(
      stored_matrix(ours + "out", theirs + "out_proj.weight", columns, hidden, layer.shape.factors.mamba_out));
}

}  // namespace draftline
