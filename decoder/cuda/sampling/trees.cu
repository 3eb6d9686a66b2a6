// SPDX-License-Identifier: Apache-2.0
// Dynamic trees: the candidates of a level and the frontier chosen from them, and the selection of rows to verify.
#include "core/errors.h"
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kMostLevels = 48;
constexpr std::size_t kSharedBytes = 96 * 1024;  // available on every architecture from sm_80 on

// The fields of ExpandTree in decoder/op/trees.h.
struct ExpandTreeView {
  View<const int> ids;
  View<const float> log_probs, score;
  View<const int> node, tree_mask;
  int width, keep, first_node, tail;
  View<int> tokens;
  View<float> scores;
  View<int> parents, row, token;
  View<float> next_score;
  View<int> next_node, next_tree_mask;
};
// The candidates of one level, [sequences, columns] each.
struct TreeLevel {
  View<const int> tokens;
  View<const float> scores;
  View<const int> parents;
};

__device__ void set_bit(int* words, int entry) { words[entry / 32] |= 1U << (entry % 32); }

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

template <class T>
void run(const OnDevice<T>& d, const ExpandTree& o) {
  const std::size_t bytes = sizeof(float) * at(o.width) * at(o.ids.cols);
  check(bytes <= kSharedBytes, "expand_tree: too many candidates");
  launch(expand_tree_kernel, grid_of(o.ids.rows / o.width), grid_of(kThreads), bytes, d.stream,
         ExpandTreeView{d.ids(o.ids), d.floats(o.log_probs), d.floats(o.score), d.ids(o.node), d.ids(o.tree_mask),
                        o.width, o.keep, o.first_node, o.tail, d.out_ids(o.tokens), d.out_floats(o.scores),
                        d.out_ids(o.parents), d.out_ids(o.row), d.out_ids(o.token), d.out_floats(o.next_score),
                        d.out_ids(o.next_node), d.out_ids(o.next_tree_mask)});
}

template <class T>
void run(const OnDevice<T>& d, const SelectTree& o) {
  check(o.tokens.size() <= kMostLevels, "select_tree: too many levels");
  Pool pool{};
  for (int& i = pool.count; i < count(o.tokens); ++i) {
    pool.levels[i] = {d.ids(o.tokens[at(i)]), d.floats(o.scores[at(i)]), d.ids(o.parents[at(i)])};
    pool.begin[i + 1] = pool.begin[i] + o.tokens[at(i)].cols;
  }
  const std::size_t bytes = at(pool.begin[pool.count]) * (sizeof(float) + 2 * sizeof(int)) + sizeof(int) * at(o.size);
  check(bytes <= kSharedBytes, "select_tree: too many candidates");
  launch(select_tree_kernel, grid_of(o.root.rows), grid_of(kThreads), bytes, d.stream, pool, d.ids(o.root), o.size,
         o.by_level, d.out_ids(o.y), d.out_ids(o.parent), d.out_ids(o.tree_mask));
}

FOR_FORMATS(void, run, ExpandTree);
FOR_FORMATS(void, run, SelectTree);

}  // namespace draftline::cuda
