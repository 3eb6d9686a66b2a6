// SPDX-License-Identifier: Apache-2.0
// Contexts are split among CTAs (split-KV): where each part leaves its partial result.
#pragma once
#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/block.cuh"
#include "model/kernels/context_splits.h"

namespace draftline::cuda {

// A part of a softmax: the largest score, and the sum of the weights exp(score - top).
struct Share {
  float top, sum;
};
__device__ inline float weight_of(float top, float all) { return top == -INFINITY ? 0.0F : exp2f(top - all); }

// What the splits of a context leave to be joined, by [unit][split][row of the tile]: the sums of values, each `stride`
// floats, and their shares.
struct AttendParts {
  float* sums;
  Share* shares;
  int splits, tile_rows, stride;
  DRAFTLINE_BOTH std::ptrdiff_t at(int unit, int split) const {
    return (std::ptrdiff_t{unit} * splits + split) * tile_rows;
  }
};

constexpr int stride_of_parts(int value_dim) { return (value_dim + 3) / 4 * 4; }  // read 16 bytes at a time
// Rows of parts of all heads. `heads`: KV heads of all sequences.
inline std::size_t rows_of_parts(const AttendPlan& p, int heads) {
  return at(heads) * at(p.tiles) * at(p.splits) * at(p.tile_rows);
}
// Bytes of scratch memory.
inline std::size_t scratch_of(const AttendPlan& p, int heads, int value_dim) {
  if (p.splits == 1) return kCounterBytes;
  return kCounterBytes + rows_of_parts(p, heads) * (sizeof(float) * at(stride_of_parts(value_dim)) + sizeof(Share));
}
inline AttendParts parts_in(const Scratch& scratch, const AttendPlan& p, int heads, int value_dim) {
  const int stride = stride_of_parts(value_dim);
  auto* sums = behind_counters<float>(scratch);
  auto* shares = reinterpret_cast<Share*>(sums + rows_of_parts(p, heads) * at(stride));
  return {sums, shares, p.splits, p.tile_rows, stride};
}

}  // namespace draftline::cuda
