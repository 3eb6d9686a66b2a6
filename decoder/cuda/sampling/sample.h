// SPDX-License-Identifier: Apache-2.0
// Drawing draft tokens from warped distributions, which are kept for verification.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "decoder/cuda/runtime/view.h"
#include "decoder/sampling.h"

namespace draftline::cuda {

// logits [n, vocabulary] -> tokens [n], q [n, vocabulary]; row r belongs to sequence r, text position = length + ahead.
template <class T>
struct SampleView {
  View<const T> logits;
  BatchSlotsView slots;
  Sampling sampling;
  std::uint64_t seed;
  int ahead;
  View<int> tokens;
  View<float> q;
};
template <class T>
void sample(const SampleView<T>&, cudaStream_t);

// logits [sequences * width, vocabulary] -> tokens [rows, draws], q [rows, vocabulary]. Without replacement no token is
// drawn twice from a row; if there are too few, the last repeats.
template <class T>
void sample_children(const SampleView<T>&, bool replaced, cudaStream_t);

}  // namespace draftline::cuda
