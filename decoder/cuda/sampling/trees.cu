// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/sampling/trees.h"

#include "core/errors.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kMostLevels = 48;
constexpr std::size_t kSharedBytes = 96 * 1024;  // available on every architecture from sm_80 on

__device__ void set_bit(int* words, int entry) {
  words[entry / 32] = static_cast<int>(static_cast<unsigned>(words[entry / 32]) | 1U << (entry % 32));
}

// A NaN would compare as false with every other score, and leave no order to choose by.
__device__ inline float comparable(float score) { return score >= -INFINITY ? score : -INFINITY; }

__global__ void expand_tree_kernel(ExpandTreeView o) {
  const int b = block_x(), k = o.ids.cols, n = o.width * k, words = o.tree_mask.cols;
  auto* scores = dynamic_shared<float>();
  for (int c = thread_x(); c < n; c += kThreads) {
    const int r = b * o.width + c / k;
    scores[c] = comparable(*o.score.row(r) + o.log_probs.row(r)[c % k]);
    o.scores.row(b)[c] = scores[c];
    o.tokens.row(b)[c] = o.ids.row(r)[c % k];
    o.parents.row(b)[c] = *o.node.row(r);
  }
  __syncthreads();
  for (int c = thread_x(); c < n; c += kThreads) {
    int better = 0;  // of equal scores the first candidate is the best
    for (int other = 0; other < n; ++other)
      better += scores[other] > scores[c] || (scores[other] == scores[c] && other < c) ? 1 : 0;
    if (better >= o.keep) continue;
    const int from = b * o.width + c / k, to = b * o.keep + better;
    *o.row.row(to) = from;
    *o.token.row(to) = o.ids.row(from)[c % k];
    *o.next_score.row(to) = scores[c];
    *o.next_node.row(to) = o.first_node + c;
    for (int w = 0; w < words; ++w) o.next_tree_mask.row(to)[w] = o.tree_mask.row(from)[w];
    set_bit(o.next_tree_mask.row(to), o.tail + better);
  }
}

struct Pool {
  TreeLevel levels[kMostLevels];
  int begin[kMostLevels + 1];  // index of a level's first candidate
  int count;
  __device__ int level_of(int candidate) const {
    int level = 0;
    while (candidate >= begin[level + 1]) ++level;
    return level;
  }
};

// Parents stand before their children in the pool and have no lower score, so a selected candidate's parent is selected
// too.
__global__ void select_tree_kernel(const Pool pool, View<const int> root, int size, bool by_level, View<int> y,
                                   View<int> parent, View<int> tree_mask) {
  const int b = block_x(), n = pool.begin[pool.count], words = tree_mask.cols;
  auto* scores = dynamic_shared<float>();
  auto* level = reinterpret_cast<int*>(scores + n);
  int* chosen = level + n;
  int* local = chosen + n;  // [size]: parents of the rows
  for (int c = thread_x(); c < n; c += kThreads) {
    const int l = pool.level_of(c);
    level[c] = by_level ? l : 0;
    scores[c] = comparable(pool.levels[l].scores.row(b)[c - pool.begin[l]]);
  }
  for (int i = thread_x(); i < size; i += kThreads) local[i] = i == 0 ? -1 : -2;
  __syncthreads();
  const auto present = [&](int c) { return !by_level || fabsf(scores[c]) != INFINITY; };
  for (int c = thread_x(); c < n; c += kThreads) {
    int before = 0;
    for (int other = 0; other < n; ++other) {
      if (!present(other)) continue;
      const bool first = level[other] != level[c]     ? level[other] < level[c]
                         : scores[other] != scores[c] ? scores[other] > scores[c]
                                                      : other < c;
      before += first ? 1 : 0;
    }
    chosen[c] = present(c) && before < size - 1 ? 1 : 0;
  }
  __syncthreads();
  const auto chosen_before = [&](int candidate) {
    int before = 0;
    for (int other = 0; other < candidate; ++other) before += chosen[other];
    return before;
  };
  for (int i = thread_x(); i < size; i += kThreads) *y.row(b * size + i) = *root.row(b);
  __syncthreads();
  for (int c = thread_x(); c < n; c += kThreads) {
    if (chosen[c] == 0) continue;
    const int l = pool.level_of(c), at = c - pool.begin[l], row = 1 + chosen_before(c);
    const int from = pool.levels[l].parents.row(b)[at];
    local[row] = from < 0 ? 0 : 1 + chosen_before(from);
    *y.row(b * size + row) = pool.levels[l].tokens.row(b)[at];
  }
  __syncthreads();
  for (int i = thread_x(); i < size; i += kThreads) {
    *parent.row(b * size + i) = local[i];
    int* mine = tree_mask.row(b * size + i);
    for (int w = 0; w < words; ++w) mine[w] = 0;
    for (int row = i; row >= 0; row = local[row]) set_bit(mine, row);
  }
}

}  // namespace

void expand_tree(const ExpandTreeView& o, cudaStream_t stream) {
  const std::size_t bytes = sizeof(float) * at(o.width) * at(o.ids.cols);
  check(bytes <= kSharedBytes, "expand_tree: too many candidates");
  launch(expand_tree_kernel, grid_of(o.ids.rows / o.width), grid_of(kThreads), bytes, stream, o);
}

void select_tree(std::span<const TreeLevel> levels, const SelectTreeView& o, cudaStream_t stream) {
  check(levels.size() <= kMostLevels, "select_tree: too many levels");
  Pool pool{};
  for (const TreeLevel& l : levels) {
    pool.levels[pool.count] = l;
    pool.begin[pool.count + 1] = pool.begin[pool.count] + l.tokens.cols;
    ++pool.count;
  }
  const std::size_t bytes = at(pool.begin[pool.count]) * (sizeof(float) + 2 * sizeof(int)) + sizeof(int) * at(o.size);
  check(bytes <= kSharedBytes, "select_tree: too many candidates");
  launch(select_tree_kernel, grid_of(o.root.rows), grid_of(kThreads), bytes, stream, pool, o.root, o.size, o.by_level,
         o.y, o.parent, o.tree_mask);
}

}  // namespace draftline::cuda
