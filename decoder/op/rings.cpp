// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/rings.h"

#include "decoder/tape.h"

namespace draftline {

Kernel KeepEntries::work(const Tape&) const {
  const Bytes moved = 1.0 * last.rows * rows * from.layers * from.row_bytes();
  return Copy{.read = last.bytes() + cu_seqlens.bytes() + kv_slots.bytes() + lengths.bytes() + moved,
              .written = moved,
              .format = from.dtype};
}

// The price is that of prompts that are longer than the window and fill the ring: scores against each key, and
// copies.
Kernel SelectEntries::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const double b = p.rows.sequences(), columns = q.cols;
  const Bytes moved = b * to.window.tokens * to.row_bytes();
  return Copy{.read = bytes_of(q.dtype, b * window * columns) +
                      bytes_of(from.dtype, 1.0 * p.rows.total * from.kv_heads * from.head_dim) + moved +
                      p.index_bytes(),
              .written = moved,
              .flops = Flops{2.0 * window * columns * p.rows.total},
              .format = q.dtype};
}

}  // namespace draftline
