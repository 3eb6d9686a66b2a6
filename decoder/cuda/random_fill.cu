// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., SC11) by counters (2 i, 2 i + 1) of core/rng's streams, then Box and Muller in fp64.
#include "decoder/cuda/random_fill.h"

#include "core/errors.h"
#include "decoder/cuda/launch.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kMostTerms = 2;
struct Terms {
  NormalTerm term[kMostTerms];
  int count;
};

// A uniform in [0, 1): the first 53 of the block's bits.
__device__ inline double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  constexpr unsigned kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U, kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  auto c0 = static_cast<unsigned>(counter), c1 = static_cast<unsigned>(counter >> 32);
  auto c2 = static_cast<unsigned>(stream), c3 = static_cast<unsigned>(stream >> 32);
  auto k0 = static_cast<unsigned>(seed), k1 = static_cast<unsigned>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(kMultiplier0, c0), low0 = kMultiplier0 * c0;
    const unsigned high1 = __umulhi(kMultiplier1, c2), low1 = kMultiplier1 * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  const std::uint64_t bits = std::uint64_t{c1} << 32 | c0;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

template <class T>
__global__ void fill_kernel(Terms terms, T* to, std::int64_t n) {
  constexpr double kPi = 3.14159265358979323846;
  const auto step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x); i < n; i += step) {
    float v = 0;
    for (int t = 0; t < terms.count; ++t) {
      const NormalTerm& m = terms.term[t];
      const auto counter = static_cast<std::uint64_t>(i) * 2;
      const double radius = sqrt(-2 * log1p(-uniform(m.seed, m.stream, counter)));
      const double normal = radius * cos(2 * kPi * uniform(m.seed, m.stream, counter + 1));
      v += m.scale * (static_cast<float>(m.mean + m.spread * normal) - m.minus);
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
