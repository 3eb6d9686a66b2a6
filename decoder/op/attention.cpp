// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/attention.h"

#include "decoder/tape.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

Kernel RopeAppend::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const bool appends = k.cols > 0;
  const Bytes lines =
      appends ? cpu_lines_appended(p.rows.sequences(), p.rows.total, cache.kv_heads, cache.head_dim, cache.value_dim)
              : Bytes{};
  return Copy{.read = q.bytes() + k.bytes() + v.bytes() + p.index_bytes(),
              .written = y.bytes() + (appends ? p.rows.total * cache.row_bytes() : Bytes{}),
              .op = ElementOp::rope_append,
              .elements = 1.0 * p.rows.total * (rope.columns + k.cols),
              .format = q.dtype,
              .old_lines = lines};
}

std::string_view attention_key(const Pass& p) {
  if (p.rows.prompts) return "attention.prefill";
  return p.rows.widest == 1 && !p.tree_mask ? Attend::key : "attention.verify";
}

std::string_view Attend::key_in(const Tape& tape) const { return attention_key(tape.pass(pass)); }

Kernel Attend::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return Attention{.sequences = p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = p.rows.widest,
                   .heads = q.cols / cache.head_dim,
                   .kv_heads = cache.kv_heads,
                   .head_dim = cache.head_dim,
                   .cache = cache.dtype,
                   .activations = q.dtype,
                   .masked = !p.is_causal(),
                   .index_bytes = p.index_bytes() + (sinks ? weight_bytes(sinks->dtype, sinks->out) : Bytes{}),
                   .value_dim = cache.value_dim};
}

Kernel GroupAttend::work(const Tape&) const {
  const double keys = causal ? (group + 1) / 2.0 : group;  // keys of a row, on average
  return Copy{.read = q.bytes() + k.bytes() + v.bytes(),
              .written = y.bytes(),
              .flops = Flops{4.0 * q.elements() * keys},
              .format = q.dtype};
}

}  // namespace draftline
