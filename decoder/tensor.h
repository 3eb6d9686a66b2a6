// SPDX-License-Identifier: Apache-2.0
// Handles that networks and methods pass around: small values that own nothing and mean the same on every backend.
// Every tensor is 2-D and a row is one token of one sequence; batches are ragged, never padded.
#pragma once
#include <optional>
#include <vector>

#include "core/errors.h"
#include "decoder/weights.h"
#include "model/dtype.h"

namespace draftline {

// temp: dies at the next host read. persistent: lives as long as the Ops that made it.
enum class Home : std::uint8_t { temp, persistent };

struct Tensor {  // a strided window on buffer `id`
  int rows = 0, cols = 0, stride = 0, offset = 0, id = -1, epoch = 0;
  Home home = Home::temp;
  DType dtype = DType::fp32;
  double elements() const { return static_cast<double>(rows) * cols; }
  Bytes bytes() const { return bytes_of(dtype, elements()); }
};

// Direction is part of the type: liveness and bytes of an op follow from it.
struct Out : Tensor {
  Out() = default;
  Out(Tensor t) : Tensor(t) {}
};

// Views: no op, no cost.
inline Tensor columns(Tensor t, int from, int n) {
  check(from >= 0 && n > 0 && from + n <= t.cols, "columns: outside of the tensor");
  t.offset += from;
  t.cols = n;
  return t;
}
inline Tensor row_range(Tensor t, int from, int n) {
  check(from >= 0 && n >= 0 && from + n <= t.rows, "row_range: outside of the tensor");
  t.offset += from * t.stride;
  t.rows = n;
  return t;
}
inline Tensor reshape(Tensor t, int rows, int cols) {
  check(t.stride == t.cols && t.elements() == static_cast<double>(rows) * cols,
        "reshape: a contiguous tensor of that size");
  t.rows = rows;
  t.cols = t.stride = cols;
  return t;
}

// Keys and values of some layers, for every KV slot: a target's, a draft network's, one layer of a drafter, all alike.
struct Cache {
  int id = -1, layers = 0, kv_heads = 0, head_dim = 0;
  DType dtype = DType::fp32;
  int columns() const { return 2 * kv_heads * head_dim; }
  Bytes row_bytes() const { return bytes_of(dtype, columns()); }  // K and V of one token in one layer
};

// Which rows belong to which sequence. The total is shape; who has how many is device data, so a ragged plan keeps its tape.
struct Rows {
  std::vector<int> each;  // host copy of the counts, for accounting alone: not part of the tape; 0 = sits out
  Tensor cu_seqlens;      // int32 [sequences + 1]: rows of all sequences before this one
  int total = 0, widest = 0;
  int sequences() const { return cu_seqlens.rows - 1; }
};

// The batch slots of sequences that step together: views of persistent buffers, so that a batch may shrink, grow or be
// split without a copy.
struct BatchSlots {
  Tensor kv_slots;  // int32 [sequences]: the KV slot of each
  Tensor lengths;   // int32 [sequences]: committed cache entries; change in Advance alone, the last op of a step
  Tensor ids;       // int32 [sequences]: the sequence's id, which names its stream of random numbers
};

// One forward pass. A row's position follows: length + tail entries it attends to - 1. True of every method.
struct Pass {
  Rows rows;
  BatchSlots slots;
  std::optional<Tensor> tree_mask =
      {};        // int32 [total, words]: bit j = attends to tail entry j, itself included. None: causal
  int tail = 0;  // uncommitted entries each sequence already has; this pass's rows are written after them
  // Host copy, for accounting alone, of a drafter that keeps lengths of its own in `slots`: how far each is ahead of the
  // committed length. Empty: nowhere.
  std::vector<int> ahead = {};
};
struct PassRef {  // passes are interned in the tape: an op stays small
  int index = -1, epoch = 0;
};

}  // namespace draftline
