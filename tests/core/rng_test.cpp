// SPDX-License-Identifier: Apache-2.0
#include "core/rng.h"

#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <vector>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "tests/catch.h"

using namespace draftline;

// Chance of a deviation at least as large, if all bins are equally likely.
static double chance(const std::vector<int>& counts) {
  double total = 0, statistic = 0;
  for (const int c : counts) total += c;
  const double expected = total / static_cast<double>(counts.size());
  for (const int c : counts) statistic += (c - expected) * (c - expected) / expected;
  const boost::math::chi_squared law(static_cast<double>(counts.size() - 1));
  return boost::math::cdf(boost::math::complement(law, statistic));
}

template <class Draw>
static double uniformity(std::size_t bins, int draws, Draw draw) {
  std::vector<int> counts(bins, 0);
  for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(draw(i) * static_cast<double>(bins))];
  return chance(counts);
}

TEST_CASE("Philox gives the published answers") {
  // Random123's known answers for philox4x32, 10 rounds: zeros, ones, the digits of pi.
  using Counter = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t f = 0xffffffff;
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({f, f, f, f}, {f, f}) == Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("four words of Philox are the first of their blocks") {
  const PhiloxLanes lanes{{0, 1, 77, 0xffffffff}, {0, 0xa4093822, 5, 0xffffffff}, {0, 0x299f31d0, 0xffffffff, 6}};
  const PhiloxLanes::Words words = lanes.first_words();
  for (std::size_t i = 0; i < words.size(); ++i)
    CHECK(words[i] == philox4x32_10({lanes.counter[i], 0, 0, 0}, {lanes.key0[i], lanes.key1[i]})[0]);
}

TEST_CASE("a draw is the Philox block at (counter, stream) under the seed, lowest words first") {
  constexpr std::uint64_t seed = 0x0123456789abcdef;
  Fingerprint stream;
  stream.add("arrivals");
  stream.add(5);
  const auto low = static_cast<std::uint32_t>(stream.value()), high = static_cast<std::uint32_t>(stream.value() >> 32);
  Rng rng(seed, "arrivals", 5);
  for (std::uint32_t counter = 0; counter < 3; ++counter) {
    const auto block = philox4x32_10({counter, 0, low, high}, {0x89abcdef, 0x01234567});
    CHECK(rng.bits() == (std::uint64_t{block[1]} << 32 | block[0]));
  }
}

TEST_CASE("equal seeds, purposes and indices give equal draws, any other gives others") {
  Rng a(1, "arrivals", 2), b(1, "arrivals", 2), seed(2, "arrivals", 2), purpose(1, "lengths", 2),
      index(1, "arrivals", 3);
  for (int i = 0; i < 100; ++i) {
    const auto v = a.bits();
    CHECK(v == b.bits());
    CHECK(v != seed.bits());
    CHECK(v != purpose.bits());
    CHECK(v != index.bits());
  }
}

TEST_CASE("uniform draws are uniform and lie from 0 to below 1") {
  Rng rng(7, "test");
  CHECK(uniformity(1000, 1000000, [&](int) { return rng.uniform(); }) > 1e-4);
  for (int i = 0; i < 10000; ++i) {
    const double u = rng.uniform();
    REQUIRE((u >= 0 && u < 1));
  }
}

TEST_CASE("uniforms at places are uniform along each coordinate") {
  CHECK(uniformity(100, 100000, [](int i) { return uniform_at(1, static_cast<unsigned>(i), 0); }) > 1e-4);
  CHECK(uniformity(100, 100000, [](int i) { return uniform_at(1, 0, static_cast<unsigned>(i)); }) > 1e-4);
  CHECK(uniformity(100, 100000, [](int i) { return uniform_at(1, 0, 0, static_cast<unsigned>(i)); }) > 1e-4);
  CHECK(uniformity(100, 100000, [](int i) { return uniform_at(static_cast<unsigned>(i), 0, 0); }) > 1e-4);
}

TEST_CASE("streams are independent: pairs of draws fill the square evenly") {
  const auto pair_chance = [](Rng one, Rng other) {
    std::vector<int> counts(32 * 32, 0);
    for (int i = 0; i < 200000; ++i) ++counts[one.below(32) * 32 + other.below(32)];
    return chance(counts);
  };
  CHECK(pair_chance(Rng(1, "a"), Rng(1, "b")) > 1e-4);
  CHECK(pair_chance(Rng(1, "a", 0), Rng(1, "a", 1)) > 1e-4);
  CHECK(pair_chance(Rng(1, "a"), Rng(2, "a")) > 1e-4);
  CHECK(pair_chance(Rng(1, "a"), Rng(1, "a")) < 1e-10);  // the test sees dependence
}

TEST_CASE("below is even for a count that does not divide 2^64, and never reaches it") {
  Rng rng(3, "below");
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts.at(rng.below(7));
  CHECK(chance(counts) > 1e-4);
  CHECK(rng.below(1) == 0);
  // For n = 3 * 2^62 plain remainders would hit the lowest third twice as often as each other third: 1/2 of all.
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += rng.below(3ULL << 62) < (1ULL << 62);
  CHECK(low == Approx(10000).margin(5 * std::sqrt(30000.0 * 2 / 9)));  // five standard deviations
  CHECK_THROWS_AS(rng.below(0), Bug);
}

TEST_CASE("normal and exponential draws have their moments") {
  Rng rng(11, "moments");
  const int n = 400000;
  double sum = 0, squares = 0, fourth = 0, waits = 0, wait_squares = 0;
  for (int i = 0; i < n; ++i) {
    const double z = rng.normal(), e = rng.exponential();
    REQUIRE(std::isfinite(z));
    REQUIRE(e >= 0);
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    waits += e;
    wait_squares += e * e;
  }
  const double five = 5 / std::sqrt(n);  // five standard errors, times the standard deviation of each summand
  CHECK(sum / n == Approx(0).margin(five));
  CHECK(squares / n == Approx(1).margin(five * std::sqrt(2.0)));
  CHECK(fourth / n == Approx(3).margin(five * std::sqrt(96.0)));
  CHECK(waits / n == Approx(1).margin(five));
  CHECK(wait_squares / n == Approx(2).margin(five * std::sqrt(20.0)));
}
