// SPDX-License-Identifier: Apache-2.0
// Contexts are split among CTAs (split-KV): into how many parts, and where each leaves its partial result.
#pragma once
#include <algorithm>
#include <cstdint>

#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

inline constexpr int kLeastKeys = 128;  // of a split; joining costs more than a shorter one saves
inline constexpr int kMostSplits = 64;  // two for each lane that joins them

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
    return (static_cast<std::ptrdiff_t>(unit) * splits + split) * tile_rows;
  }
};

// The parts of a context in which it takes the least time when so many CTAs run at once, in waves, each of which takes
// what a part takes. A part's work is counted in stages of 64 keys, and what it has besides as three.
inline int splits_for(std::int64_t units, int at_once, int capacity) {
  constexpr int kStage = 64, kBesides = 3, kManyWaves = 2;  // the last of many waves is a small part of them
  constexpr double kAsGood = 1.02;                          // fewer parts leave less to be joined
  if (units >= std::int64_t{kManyWaves} * at_once) return 1;
  const int stages = ceil_div(capacity, kStage);
  const auto time = [&](int splits) {
    const std::int64_t waves = (units * splits + at_once - 1) / at_once;
    return static_cast<double>(waves) * (ceil_div(stages, splits) + kBesides);
  };
  const int most = std::clamp(ceil_div(capacity, kLeastKeys), 1, kMostSplits);
  double least = time(1);
  for (int splits = 2; splits <= most; ++splits) least = std::min(least, time(splits));
  int chosen = 1;
  while (time(chosen) > kAsGood * least) ++chosen;
  return chosen;
}

constexpr int stride_of_parts(int value_dim) { return (value_dim + 3) / 4 * 4; }  // read 16 bytes at a time
// Rows of parts of all heads. `heads`: KV heads of all sequences.
inline std::size_t rows_of_parts(const AttendPlan& p, int heads) {
  return static_cast<std::size_t>(heads) * static_cast<std::size_t>(p.tiles) * static_cast<std::size_t>(p.splits) *
         static_cast<std::size_t>(p.tile_rows);
}
// Bytes of scratch memory.
inline std::size_t scratch_of(const AttendPlan& p, int heads, int value_dim) {
  if (p.splits == 1) return kCounterBytes;
  return kCounterBytes + rows_of_parts(p, heads) *
                             (sizeof(float) * static_cast<std::size_t>(stride_of_parts(value_dim)) + sizeof(Share));
}
inline AttendParts parts_in(const Scratch& scratch, const AttendPlan& p, int heads, int value_dim) {
  const int stride = stride_of_parts(value_dim);
  auto* sums = behind_counters<float>(scratch);
  auto* shares = reinterpret_cast<Share*>(sums + rows_of_parts(p, heads) * static_cast<std::size_t>(stride));
  return {sums, shares, p.splits, p.tile_rows, stride};
}

}  // namespace draftline::cuda
