// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Random123's Philox4x32-10; Salmon et al., SC11): a draw is a pure function of (seed,
// stream, counter), so that a result does not depend on the order of work, the batch or the number of threads. bits(),
// uniform() and below() are equal on every machine; normal() and exponential() may differ in the last bits, because the
// C library's log and cos do.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace draftline {

// A stream of random numbers for one purpose, by name: Rng(seed, "arrivals"). Different `index` values give independent
// streams, for instance one per prompt or request.
class Rng {
 public:
  Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);
  std::uint64_t bits();                             // 64 random bits
  double uniform();                                 // [0, 1), 53 bits
  double normal();                                  // mean 0, variance 1
  double exponential();                             // mean 1
  std::uint64_t below(std::uint64_t n);             // unbiased in [0, n), n > 0
  std::uint64_t stream() const { return stream_; }  // the stream's id, a hash of purpose and index

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
};

// A uniform number in [0, 1) for the coordinates (a, b, c), independent of the number of any other coordinates and of
// every Rng. It is used where work is parallel or replayed.
double uniform_at(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0);

// The Philox block function.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// The first words of philox4x32_10({counter, 0, 0, 0}, key) of four counters, each with its own key: the compiler turns
// the loop over four into vector instructions.
struct PhiloxLanes {
  static constexpr int kLanes = 4;
  using Words = std::array<std::uint32_t, kLanes>;
  Words counter{}, key0{}, key1{};
  Words first_words() const;
};

}  // namespace draftline
