// SPDX-License-Identifier: Apache-2.0
// Verification on the device by the rules of decoder/verify: one CTA walks down the tree of one sequence.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "decoder/cuda/runtime/view.h"
#include "decoder/sampling.h"

namespace draftline::cuda {

// The trees of all sequences. cu_seqlens [sequences + 1]: the first row of each; parents: a row of the same sequence,
// -1 for the root, -2 for a mask row.
struct TreesView {
  View<const int> tokens, parents, cu_seqlens;
};
// path, next [sequences * (depth + 1)]: padding repeats the last row; the rest [sequences].
struct VerdictView {
  int *path, *next, *counts, *last, *last_row, *bonus;
  int depth;
};

// Bytes of scratch memory of verify_sampled() and verify_relaxed().
std::size_t verify_scratch(int rows);

void verify_greedy(View<const int> predicted, const TreesView&, const VerdictView&, cudaStream_t);

// q: the warped distributions from which rows 1.. of each sequence were drawn; data is null for point masses. Only the
// first 256 children of a node are judged; later ones count as not proposed.
template <class T>
struct VerifySampledView {
  View<const T> logits;
  TreesView trees;
  View<const float> q;
  AcceptRule rule;
  BatchSlotsView slots;
  Sampling sampling;
  std::uint64_t seed;
  VerdictView verdict;
};
template <class T>
void verify_sampled(const VerifySampledView<T>&, const Scratch&, cudaStream_t);

template <class T>
struct VerifyRelaxedView {
  View<const T> logits;
  TreesView trees;
  Sampling sampling;
  Relaxed rule;
  VerdictView verdict;
};
template <class T>
void verify_relaxed(const VerifyRelaxedView<T>&, const Scratch&, cudaStream_t);

// Forced acceptance, for measurements: ForceAccepted in decoder/op/verify.h, force_accepted() in decoder/verify.
void force_accepted(View<const int> predicted, const TreesView&, View<const int> wanted, int vocabulary, View<int> y,
                    cudaStream_t);

}  // namespace draftline::cuda
