// SPDX-License-Identifier: Apache-2.0
// What the probes of attention share: a pass of equal sequences over a blocked cache, and attention in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/int_indexed.h"
#include "probes/cuda/matrix.h"
#include "probes/cuda/op_runner.h"

namespace draftline {

// `table` [sequences][blocks_per_kv_slot]: the blocks of a sequence are not contiguous.
struct BlockedPass {
  int sequences, rows, context;
  int blocks_per_kv_slot = cuda::ceil_div(context + rows, cuda::kBlockTokens);
  int blocks = sequences * blocks_per_kv_slot;
  std::vector<int> table = blocks_apart();
  Matrix<int> tables = uploaded(table, 1), kv_slots = counting(sequences, 1),
              cu_seqlens = counting(sequences + 1, rows),
              lengths = uploaded(std::vector<int>(at(sequences), context), 1);

  Pass pass(cuda::OpRunner& d) const {
    return {.rows = {.cu_seqlens = d(cu_seqlens), .total = sequences * rows, .widest = rows},
            .slots = {.kv_slots = d(kv_slots), .lengths = d(lengths), .ids = d(kv_slots)}};
  }
  cuda::CacheMemory memory(const Buffer& values) const {
    return {values.data(), tables.data(), blocks_per_kv_slot, blocks};
  }
  // The block that holds a key of the last sequence.
  int block_of(int key) const { return table[at((sequences - 1) * blocks_per_kv_slot + key / cuda::kBlockTokens)]; }

 private:
  std::vector<int> blocks_apart() const {
    std::vector<int> all(at(blocks));
    for (int i = 0; i < blocks; ++i) all[at(i)] = i % sequences * blocks_per_kv_slot + i / sequences;
    return all;
  }
  static Matrix<int> counting(int n, int step) {
    std::vector<int> all(at(n));
    for (int i = 0; i < n; ++i) all[at(i)] = i * step;
    return uploaded(all, 1);
  }
};

// Attention of one query in double. score(key): -INFINITY where the query does not see it; value(key, column).
template <class Score, class Value>
std::vector<double> attended(int keys, int columns, Score score, Value value) {
  std::vector<double> weights, result(at(columns), 0.0);
  for (int key = 0; key < keys; ++key) weights.push_back(score(key));
  const double top = *std::ranges::max_element(weights);
  for (double& w : weights) w = std::exp(w - top);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int key = 0; key < keys; ++key) {
    const double weight = weights[at(key)] / sum;
    for (int c = 0; weight > 0 && c < columns; ++c) result[at(c)] += weight * value(key, c);
  }
  return result;
}
// Whether the columns of a result from `first` on are those.
inline bool are_close(const std::vector<double>& ours, int first, const std::vector<double>& reference) {
  double size = 0;
  for (const double v : reference) size = std::max(size, std::abs(v));
  for (std::size_t c = 0; c < reference.size(); ++c)
    if (!close(ours[at(first) + c], reference[c], size)) return false;
  return true;
}

}  // namespace draftline
