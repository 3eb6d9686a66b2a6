// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/recurrence.h"

#include "decoder/tape.h"

namespace draftline {

Kernel Convolve::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return CausalConvolution{.sequences = p.rows.sequences(),
                           .rows = p.rows.total,
                           .columns = x.cols,
                           .kernel = cache.form.kernel,
                           .activations = x.dtype,
                           .prompts = p.rows.prompts,
                           .index_bytes = p.index_bytes(),
                           .bias = bias.has_value(),
                           .state_space = cache.form.state_space};
}

Kernel GatedDeltaRule::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const StateForm& form = cache.form;
  return DeltaRule{.sequences = p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = p.rows.widest,
                   .key_heads = form.key_heads,
                   .value_heads = form.value_heads,
                   .key_dim = form.key_dim,
                   .value_dim = form.value_dim,
                   .state = form.format,
                   .activations = qkv.dtype,
                   .prompts = p.rows.prompts,
                   .tree = p.tree_mask.has_value(),
                   .index_bytes = p.index_bytes(),
                   .column_gates = column_gates()};
}

Kernel ScanSelectively::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const StateForm& form = cache.form;
  return SelectiveScan{.sequences = p.rows.sequences(),
                       .rows = p.rows.total,
                       .widest = p.rows.widest,
                       .heads = form.value_heads,
                       .head_dim = form.value_dim,
                       .groups = form.key_heads,
                       .state_dim = form.key_dim,
                       .chunk = chunk,
                       .state = form.format,
                       .activations = xbc.dtype,
                       .prompts = p.rows.prompts,
                       .tree = p.tree_mask.has_value(),
                       .index_bytes = p.index_bytes()};
}

Kernel CommitStates::work(const Tape&) const {
  const Bytes moved =
      1.0 * counts.rows * cache.layers * (cache.state_bytes() + (cache.form.kernel - 1) * cache.row_bytes());
  return Copy{.read = path.bytes() + counts.bytes() + cu_seqlens.bytes() + kv_slots.bytes() + lengths.bytes() + moved,
              .written = moved,
              .format = cache.form.format};
}

}  // namespace draftline
