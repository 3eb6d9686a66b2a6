// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/recurrence.h"

#include "decoder/tape.h"

namespace draftline {

Kernel Convolve::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return CausalConvolution{.sequences = p.rows.sequences(),
                           .rows = p.rows.total,
                           .columns = x.cols,
                           .kernel = cache.net.kernel,
                           .activations = x.dtype,
                           .prompts = p.rows.prompts,
                           .index_bytes = p.index_bytes()};
}

Kernel GatedDeltaRule::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const DeltaNet& net = cache.net;
  return DeltaRule{.sequences = p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = p.rows.widest,
                   .key_heads = net.key_heads,
                   .value_heads = net.value_heads,
                   .key_dim = net.key_dim,
                   .value_dim = net.value_dim,
                   .state = net.state,
                   .activations = qkv.dtype,
                   .prompts = p.rows.prompts,
                   .index_bytes = p.index_bytes()};
}

}  // namespace draftline
