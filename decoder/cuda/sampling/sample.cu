// SPDX-License-Identifier: Apache-2.0
// Drawing draft tokens from warped distributions, which are kept for verification.
#include "decoder/cuda/runtime/on_device.h"
#include "decoder/cuda/sampling/distribution.cuh"

namespace draftline::cuda {

namespace {

// The purposes of random numbers, equal to those in decoder/cpu/verify.cpp.
constexpr std::uint64_t kChildDraw = std::uint64_t{1} << 32, kDraftDraw = std::uint64_t{1} << 33;

// Writes the warped distribution to q, one CTA for each row. Tokens are drawn from the rounded values that are stored.
template <class T>
__device__ void write_distribution(const T* logits, int n, const Sampling& sampling, float* q) {
  const Distribution<T> p(logits, n, sampling);
  each_of_rows(
      n, [&](int i, float v) { q[i] = static_cast<float>(p.probability(i, v)); }, logits);
  __syncthreads();
}

__device__ inline std::uint64_t position_of(const BatchSlotsView& slots, int sequence, int ahead) {
  return *slots.lengths.row(sequence) + ahead;
}
__device__ inline std::uint64_t sequence_id_of(const BatchSlotsView& slots, int sequence) {
  return *slots.ids.row(sequence);
}

template <class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    sample_kernel(View<const T> logits, BatchSlotsView slots, Sampling sampling, std::uint64_t seed, int ahead,
                  View<int> tokens, View<float> q) {
  const int row = block_x(), n = logits.cols;
  float* mine = q.row(row);
  write_distribution(logits.row(row), n, sampling, mine);
  const auto weight = [](int, float w) { return w; };
  const double sum = block_sum<double>(n, weight, mine);
  const double u = uniform_at(seed, sequence_id_of(slots, row), position_of(slots, row, ahead), kDraftDraw + ahead);
  const int token = block_locate(n, u * sum, weight, mine);
  if (threadIdx.x == 0) *tokens.row(row) = token;
}

template <class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    sample_children_kernel(View<const T> logits, BatchSlotsView slots, Sampling sampling, std::uint64_t seed, int ahead,
                           bool replaced, int width, View<int> tokens, View<float> q) {
  const int row = block_x(), n = logits.cols, draws = tokens.cols;
  float* mine = q.row(row);
  int* drawn = tokens.row(row);
  write_distribution(logits.row(row), n, sampling, mine);
  int gone = 0;
  const auto weight = [&](int i, float w) {
    for (int j = 0; j < gone; ++j)
      if (drawn[j] == i) return 0.0F;
    return w;
  };
  for (int i = 0; i < draws; ++i) {
    const double sum = block_sum<double>(n, weight, mine);
    const int trial = row % width * draws + i;
    const double u = uniform_at(seed, sequence_id_of(slots, row / width), position_of(slots, row / width, ahead),
                                kChildDraw + trial);
    const int token = sum > 0 || i == 0 ? block_locate(n, u * sum, weight, mine) : drawn[i - 1];
    if (threadIdx.x == 0) drawn[i] = token;
    if (!replaced) gone = i + 1;
    __syncthreads();
  }
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const Sample& o) {
  launch(sample_kernel<T>, grid_of(o.logits.rows), grid_of(threads_for(o.logits.cols)), 0, d.stream, d.in(o.logits),
         d.view(o.slots), o.sampling, d.seed, o.ahead, d.out_ids(o.tokens), d.out_floats(o.q));
}
template <class T>
void run(const OnDevice<T>& d, const SampleChildren& o) {
  launch(sample_children_kernel<T>, grid_of(o.logits.rows), grid_of(threads_for(o.logits.cols)), 0, d.stream,
         d.in(o.logits), d.view(o.slots), o.sampling, d.seed, o.ahead, o.replaced, o.logits.rows / o.slots.lengths.rows,
         d.out_ids(o.tokens), d.out_floats(o.q));
}

FOR_FORMATS(void, run, Sample);
FOR_FORMATS(void, run, SampleChildren);

}  // namespace draftline::cuda
