// SPDX-License-Identifier: Apache-2.0
// The states of one StateCache, and the rows that its convolutions may read again.
#pragma once
#include <memory_resource>
#include <span>
#include <vector>

#include "decoder/tensor.h"

namespace draftline {

class CpuStates {
 public:
  CpuStates(const StateCache&, int kv_slots);  // everything starts as NaN

  // The state after the row at `position`: [value_heads, key_dim, value_dim].
  std::span<float> state(int layer, int kv_slot, int position);
  std::span<const float> state(int layer, int kv_slot, int position) const;
  // The convolution's input row at `position`; positions before the text are negative.
  std::span<float> row(int layer, int kv_slot, int position);

 private:
  std::size_t place(int layer, int kv_slot, int position, int ring) const;

  StateCache cache_;
  int kv_slots_;
  std::size_t state_, columns_;  // elements of each
  std::pmr::vector<float> states_, rows_;
};

}  // namespace draftline
