// SPDX-License-Identifier: Apache-2.0
// Into how many parts our own kernels of attention split a context among CTAs (split-KV): one rule for the kernels
// (decoder/cuda/attention) and for what they are expected to take.
#pragma once
#include <algorithm>
#include <cstdint>

namespace draftline {

inline constexpr int kLeastKeysOfSplit = 128;  // joining costs more than a shorter one saves
inline constexpr int kMostSplits = 64;         // two for each lane that joins them

// Rows x heads of a tile: 16 where no more of them share a KV head in a sequence, else 64.
inline constexpr int kFewRows = 16, kManyRows = 64;
// CTAs of ordinary attention that run on a multiprocessor at once, by columns of a head.
constexpr int ctas_at_once(int head_dim, int tile_rows) { return tile_rows == kManyRows && head_dim > 96 ? 2 : 3; }

// The parts of a context in which it takes the least time when so many CTAs run at once, in waves, each of which takes
// what a part takes. A part's work is counted in stages of 64 keys, and what it has besides as three. `units`: CTAs
// where nothing is split.
constexpr int splits_for(std::int64_t units, int at_once, int keys) {
  constexpr int kStage = 64, kBesides = 3, kManyWaves = 2;  // the last of many waves is a small part of them
  constexpr double kAsGood = 1.02;                          // fewer parts leave less to be joined
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
