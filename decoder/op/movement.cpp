// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/movement.h"

namespace draftline {

Kernel Gather::work(const Tape&) const {  // reads only the rows that it takes
  return Copy{.read = y.bytes() + (index ? index->bytes() : Bytes{}), .written = y.bytes(), .format = y.dtype};
}

Kernel Commit::work(const Tape&) const {  // moves every row of the path in every layer, padding too
  const Bytes moved = 1.0 * path.rows * cache.layers * cache.row_bytes();
  return Copy{.read = path.bytes() + cu_seqlens.bytes() + kv_slots.bytes() + lengths.bytes() + moved,
              .written = moved,
              .format = cache.dtype};
}

Kernel Advance::work(const Tape&) const {
  return Copy{.read = counts.bytes() + lengths.bytes(), .written = lengths.bytes()};
}

}  // namespace draftline
