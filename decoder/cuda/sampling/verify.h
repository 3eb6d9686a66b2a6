// SPDX-License-Identifier: Apache-2.0
// Verification on the device: the rules are decoder/verify's, one block walks one sequence's tree.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "decoder/cuda/runtime/view.h"
#include "decoder/sampling.h"

namespace draftline::cuda {

// The rows of all sequences: cu_seqlens [sequences + 1]; parents are local rows, -1 the root, -2 no node.
struct TreesView {
  View<const int> tokens, parents, cu_seqlens;
};
// path, next: [sequences * (depth + 1)], padded by the last; the rest [sequences].
struct VerdictView {
  int *path, *next, *counts, *last, *last_row, *bonus;
  int depth;
};

std::size_t verify_scratch(int rows);

void verify_greedy(View<const int> predicted, const TreesView&, const VerdictView&, cudaStream_t);

// q: warped draft distributions of rows 1.. of each sequence; data null: point masses. Of the children of one node the first
// 256 are judged: whoever comes later counts as not proposed.
template <class T>
void verify_sampled(View<const T> logits, const TreesView&, View<const float> q, AcceptRule, const BatchSlotsView&,
                    const Sampling&, std::uint64_t seed, const Scratch&, const VerdictView&, cudaStream_t);

template <class T>
void verify_relaxed(View<const T> logits, const TreesView&, const Sampling&, const Relaxed&, const Scratch&,
                    const VerdictView&, cudaStream_t);

}  // namespace draftline::cuda
