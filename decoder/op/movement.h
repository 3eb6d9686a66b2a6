// SPDX-License-Identifier: Apache-2.0
// Movement of rows: of tensors, and of entries within a cache.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Concatenates the parts' columns and copies, for each index, the `span` rows from index + shift on: [index * span, sum
// of columns]. No index: all rows.
struct Gather {
  static constexpr std::string_view key = "gather";
  std::vector<Tensor> parts;
  std::optional<Tensor> index;
  int shift, span;
  Out y;
  FIELDS(parts, index, shift, span, y)
  Kernel work(const Tape&) const;
};
struct ConcatRows {
  static constexpr std::string_view key = "concat_rows";
  std::vector<Tensor> parts;
  Out y;
  FIELDS(parts, y)
};
struct Store {  // into a persistent buffer
  static constexpr std::string_view key = "store";
  Tensor x;
  Out to;
  FIELDS(x, to)
};
struct Upload {  // copies data from the host, which are not part of the tape
  static constexpr std::string_view key = "upload";
  Out to;
  FIELDS(to)
};
struct Commit {  // moves the accepted rows of the tail, `path`, to entries length, length + 1, ... in every layer
  static constexpr std::string_view key = "commit";
  Tensor path, cu_seqlens, kv_slots, lengths;
  Cache cache;
  FIELDS(path, cu_seqlens, kv_slots, lengths, cache)
  Kernel work(const Tape&) const;
};
struct Advance {  // lengths += counts; the last op of a step
  static constexpr std::string_view key = "advance";
  Tensor counts;
  Out lengths;
  FIELDS(counts, lengths)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
