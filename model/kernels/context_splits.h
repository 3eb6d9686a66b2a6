// SPDX-License-Identifier: Apache-2.0
// The number of parts into which our own attention kernels split a context among CTAs (split-KV): one rule for the
// kernels (decoder/cuda/attention) and for their predicted times.
#pragma once
#include <algorithm>
#include <cstdint>

namespace draftline {

inline constexpr int kLeastKeysOfSplit = 128;  // a shorter split saves less than joining costs
inline constexpr int kMostSplits = 64;         // two per lane of the joining warp

// Rows x heads of a tile: 16 if at most 16 of them share a KV head in a sequence, else 64.
inline constexpr int kFewRows = 16, kManyRows = 64;
// Concurrent CTAs of ordinary attention on a multiprocessor, by columns of a head.
constexpr int ctas_at_once(int head_dim, int tile_rows) { return tile_rows == kManyRows && head_dim > 96 ? 2 : 3; }

// The number of parts of a context with the least time, where `at_once` CTAs run concurrently and a wave takes the time
// of a part. A part's work is counted in stages of 64 keys, plus three stages of fixed work. `units`: CTAs without
// splitting.
constexpr int splits_for(std::int64_t units, int at_once, int keys) {
  constexpr int kStage = 64, kBesides = 3, kManyWaves = 2;  // with many waves, the last wave hardly matters
  constexpr double kAsGood = 1.02;                          // fewer parts need less joining
  if (units < 1 || keys < 1 || units >= std::int64_t{kManyWaves} * at_once) return 1;
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t stages = ceil_div(keys, kStage);
  const auto time = [&](int splits) {
    return static_cast<double>(ceil_div(units * splits, at_once) * (ceil_div(stages, splits) + kBesides));
  };
  const int most = static_cast<int>(std::clamp<std::int64_t>(ceil_div(keys, kLeastKeysOfSplit), 1, kMostSplits));
  double least = time(1);
  for (int splits = 2; splits <= most; ++splits) least = std::min(least, time(splits));
  int chosen = 1;
  while (time(chosen) > kAsGood * least) ++chosen;
  return chosen;
}

}  // namespace draftline
