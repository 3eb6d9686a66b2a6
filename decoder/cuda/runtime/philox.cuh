// SPDX-License-Identifier: Apache-2.0
// The random numbers of core/rng on the device, bit for bit: Philox4x32-10 (Salmon et al., SC11).
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "core/fingerprint.h"

namespace draftline::cuda {

__device__ inline unsigned low_word(std::uint64_t v) { return static_cast<unsigned>(v); }

// A uniform number in [0, 1), from the first 53 bits of the counter's block.
__device__ inline double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  constexpr unsigned kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U, kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  unsigned c0 = low_word(counter), c1 = low_word(counter >> 32);
  unsigned c2 = low_word(stream), c3 = low_word(stream >> 32);
  unsigned k0 = low_word(seed), k1 = low_word(seed >> 32);
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

// uniform_at() of core/rng.
__device__ inline double uniform_at(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  Fingerprint key;
  key.add(seed);
  key.add(c);
  return random_uniform(key.value(), a, b);
}

}  // namespace draftline::cuda
