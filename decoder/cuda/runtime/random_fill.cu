// SPDX-License-Identifier: Apache-2.0
// Value i comes from counters 2 i and 2 i + 1 of core/rng's streams by the Box-Muller transform in fp64. Products are
// rounded before they are added, as on the host: nvcc would contract them, and a small difference of two terms would be
// far off.
#include "decoder/cuda/runtime/random_fill.h"

#include "core/errors.h"
#include "decoder/cuda/runtime/launch.h"
#include "decoder/cuda/runtime/philox.cuh"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kMostTerms = 2;
struct Terms {
  NormalTerm term[kMostTerms];
  int count;
};

template <class T>
__global__ void fill_kernel(Terms terms, T* to, std::int64_t n) {
  constexpr double kPi = 3.14159265358979323846;
  const auto step = std::int64_t{gridDim.x} * kThreads;
  for (auto i = std::int64_t{blockIdx.x} * kThreads + thread_x(); i < n; i += step) {
    float v = 0;
    for (int t = 0; t < terms.count; ++t) {
      const NormalTerm& m = terms.term[t];
      const std::uint64_t counter = 2 * i;
      const double radius = sqrt(-2 * log1p(-random_uniform(m.seed, m.stream, counter)));
      const double normal = radius * cos(2 * kPi * random_uniform(m.seed, m.stream, counter + 1));
      const auto drawn = static_cast<float>(__dadd_rn(m.mean, __dmul_rn(m.spread, normal)));
      v = __fadd_rn(v, __fmul_rn(m.scale, drawn - m.minus));
    }
    to[i] = from_float<T>(v);
  }
}

}  // namespace

template <class T>
void fill_normal(std::span<const NormalTerm> all, T* to, std::int64_t n, cudaStream_t s) {
  check(all.size() <= kMostTerms, "fill_normal: more terms than it takes");
  Terms terms{};
  for (const NormalTerm& t : all) terms.term[terms.count++] = t;
  const std::int64_t blocks = (n + kThreads - 1) / kThreads;
  launch(fill_kernel<T>, grid_of(static_cast<int>(blocks < 65536 ? blocks : 65536)), dim3(kThreads), 0, s, terms, to,
         n);
}
template void fill_normal(std::span<const NormalTerm>, float*, std::int64_t, cudaStream_t);
template void fill_normal(std::span<const NormalTerm>, bf16*, std::int64_t, cudaStream_t);

}  // namespace draftline::cuda
