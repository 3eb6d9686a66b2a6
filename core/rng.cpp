// SPDX-License-Identifier: Apache-2.0
#include "core/rng.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/int_indexed.h"

namespace draftline {

// The first 64 of the 128 bits of a block. The counter is (high, low), the key the seed.
static std::uint64_t block(std::uint64_t key, std::uint64_t high, std::uint64_t low) {
  const auto word = [](std::uint64_t v, int i) { return low_word(v >> (32 * i)); };
  const auto out =
      philox4x32_10({word(low, 0), word(low, 1), word(high, 0), word(high, 1)}, {word(key, 0), word(key, 1)});
  return std::uint64_t{out[1]} << 32 | out[0];
}

static double to_uniform(std::uint64_t bits) { return to_double(bits >> 11) * 0x1p-53; }

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const r123::Philox4x32 generator;
  const auto out = generator({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
  return {out[0], out[1], out[2], out[3]};
}

PhiloxLanes::Words PhiloxLanes::first_words() const {
  constexpr std::uint64_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57;
  constexpr std::uint32_t kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  const auto high = [](std::uint64_t x) { return low_word(x >> 32); };
  std::uint32_t k0[kLanes], k1[kLanes], c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int i = 0; i < kLanes; ++i) {  // the first round, of a block that is zero but for its first word
    const std::uint64_t p0 = kM0 * counter[at(i)];
    k0[i] = key0[at(i)], k1[i] = key1[at(i)];
    c0[i] = k0[i], c1[i] = 0, c2[i] = high(p0) ^ k1[i], c3[i] = low_word(p0);
  }
  for (int round = 2; round < kRounds; ++round)
    for (int i = 0; i < kLanes; ++i) {
      k0[i] += kW0, k1[i] += kW1;
      const std::uint64_t p0 = kM0 * c0[i], p1 = kM1 * c2[i];
      c0[i] = high(p1) ^ c1[i] ^ k0[i], c1[i] = low_word(p1), c2[i] = high(p0) ^ c3[i] ^ k1[i], c3[i] = low_word(p0);
    }
  Words words;
  for (int i = 0; i < kLanes; ++i) words[at(i)] = high(kM1 * c2[i]) ^ c1[i] ^ (k0[i] + kW0);
  return words;
}

Rng::Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t index) : seed_(seed) {
  Fingerprint name;
  name.add(purpose);
  name.add(index);
  stream_ = name.value();
}

std::uint64_t Rng::bits() { return block(seed_, stream_, counter_++); }

double Rng::uniform() { return to_uniform(bits()); }

double Rng::normal() {  // Box and Muller; the second value is thrown away so that a draw has no memory
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Rng::exponential() { return -std::log1p(-uniform()); }

std::uint64_t Rng::below(std::uint64_t n) {
  check(n > 0, "below(0)");
  const std::uint64_t uneven = (0 - n) % n;  // 2^64 mod n: so many values would make the first remainders likelier
  std::uint64_t v = bits();
  while (v < uneven) v = bits();
  return v % n;
}

double uniform_at(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  Fingerprint key;  // not the seed itself, so that the draws differ from those of every Rng
  key.add(seed);
  key.add(c);
  return to_uniform(block(key.value(), a, b));
}

}  // namespace draftline
