// SPDX-License-Identifier: Apache-2.0
#include "sim/histogram.h"

#include <algorithm>
#include <vector>

#include "core/rng.h"
#include "tests/catch.h"

namespace draftline {

TEST_CASE("a histogram's quantiles are those of its values to a thousandth, its mean is theirs") {
  Rng rng(1, "times");
  Histogram h;
  std::vector<Ticks> all;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto t = static_cast<Ticks>(1e9 * rng.exponential());
    h.add(t);
    all.push_back(t);
    sum += static_cast<double>(t);
  }
  std::sort(all.begin(), all.end());
  for (const double share : {0.001, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto at = static_cast<std::size_t>(std::ceil(share * 10'000)) - 1;
    CHECK(h.quantile(share).value == Approx(to_seconds(all[at]).value).epsilon(1e-3));
  }
  CHECK(h.mean().value == Approx(sum / 10'000 / kTicksPerSecond).epsilon(1e-12));
  CHECK(h.share_below(to_seconds(all[4999])) == Approx(0.5).margin(2e-3));
}

TEST_CASE("rising values added at once are those added one by one") {
  Rng rng(2, "rising");
  Histogram at_once, one_by_one;
  for (int i = 0; i < 200; ++i) {
    const auto t = static_cast<Ticks>(rng.below(1'000'000)), rise = static_cast<Ticks>(rng.below(5000));
    const auto steps = static_cast<std::int64_t>(1 + rng.below(300)),
               times = static_cast<std::int64_t>(1 + rng.below(9));
    at_once.add_rising(t, rise, steps, times);
    for (std::int64_t k = 0; k < steps; ++k) one_by_one.add(t + k * rise, times);
  }
  CHECK(at_once.count() == one_by_one.count());
  CHECK(at_once.mean().value == Approx(one_by_one.mean().value).epsilon(1e-12));
  for (double share = 0; share <= 1; share += 0.01) CHECK(at_once.quantile(share) == one_by_one.quantile(share));
}

TEST_CASE("an empty histogram is 0") {
  const Histogram h;
  CHECK(h.quantile(0.5).value == 0);
  CHECK(h.mean().value == 0);
  CHECK(h.share_below({1}) == 1);
}

}  // namespace draftline
