// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/sampling/force.h"

#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 64;

// A block for each sequence, its threads share the rows.
__global__ void force_accepted_kernel(View<const int> predicted, TreesView trees, View<const int> wanted,
                                      int vocabulary, View<int> y) {
  const int b = static_cast<int>(blockIdx.x), me = static_cast<int>(threadIdx.x);
  const int first = trees.cu_seqlens.row(b)[0], n = trees.cu_seqlens.row(b + 1)[0] - first;
  const auto parent = [&](int r) { return trees.parents.row(first + r)[0]; };
  const auto token = [&](int r) { return trees.tokens.row(first + r)[0]; };
  const auto depth = [&](int r) {
    if (parent(r) < -1) return -1;
    int d = 0;
    while (parent(r) >= 0) {
      r = parent(r);
      ++d;
    }
    return d;
  };

  int deepest = 0;
  for (int r = me; r < n; r += kThreads) deepest = max(deepest, depth(r));
  deepest = block_reduce<kThreads>(deepest, Largest{});
  const int goal = max(0, min(wanted.row(b)[0] - 1, deepest));
  int not_leaf = -n;  // the first row of that depth, negated
  for (int r = me; r < n; r += kThreads)
    if (depth(r) == goal) not_leaf = max(not_leaf, -r);
  const int leaf = -block_reduce<kThreads>(not_leaf, Largest{});

  for (int r = me; r < n; r += kThreads) {
    int choice = predicted.row(first + r)[0];
    if (parent(r) >= -1) {
      for (int tries = 0; tries < vocabulary; ++tries) {
        bool drafted = false;
        for (int c = r + 1; c < n; ++c) drafted = drafted || (parent(c) == r && token(c) == choice);
        if (!drafted) break;
        choice = (choice + 1) % vocabulary;
      }
      for (int on_path = leaf; parent(on_path) >= 0; on_path = parent(on_path))
        if (parent(on_path) == r) choice = token(on_path);
    }
    y.row(first + r)[0] = choice;
  }
}

}  // namespace

void force_accepted(View<const int> predicted, const TreesView& trees, View<const int> wanted, int vocabulary,
                    View<int> y, cudaStream_t s) {
  launch(force_accepted_kernel, grid_of(trees.cu_seqlens.rows - 1), grid_of(kThreads), 0, s, predicted, trees, wanted,
         vocabulary, y);
}

}  // namespace draftline::cuda
