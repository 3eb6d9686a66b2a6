// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/request_acceptance.h"

#include <array>
#include <cmath>

#include "tests/catch.h"

using namespace draftline;

namespace {

struct Moments {
  double tokens = 0, variance = 0, inverse = 0;  // of a request's tokens per step; mean of its steps per token
};

Moments moments_of(const LengthDistribution& steps, double correlation, int requests) {
  const RequestAcceptance all(steps, correlation);
  Moments m;
  double squares = 0;
  for (int i = 0; i < requests; ++i) {
    Rng rng(3, "test", static_cast<std::uint64_t>(i));
    double tokens = 1;
    for (const double more : all.draw_survival(rng)) tokens += more;
    // Each request counts as often as its steps: by its steps per token.
    m.inverse += 1 / tokens;
    m.tokens += 1;
    squares += tokens;
  }
  m.tokens /= m.inverse;                                   // mean over steps
  m.variance = squares / m.inverse - m.tokens * m.tokens;  // between requests, over steps
  m.inverse /= requests;
  return m;
}

}  // namespace

TEST_CASE("requests differ as the correlation of their steps says, and the mean over steps is unchanged") {
  const std::array rates{0.8, 0.7, 0.6};
  const LengthDistribution steps = chain_lengths(rates);
  constexpr int kRequests = 100'000;
  for (const double correlation : {0.02, 0.3, 0.9}) {
    INFO(correlation);
    const Moments m = moments_of(steps, correlation, kRequests);
    // Steps per token vary by less than 1, so that 4 standard errors are below 4 / sqrt(100,000) of it.
    CHECK(m.tokens == Approx(steps.mean()).epsilon(0.013));
    CHECK(m.variance / steps.variance() == Approx(correlation).epsilon(0.05));
  }
}

TEST_CASE("sure drafts stay sure, and drafts that are never accepted never are") {
  const std::array rates{1.0, 0.5, 0.0};
  const RequestAcceptance all(chain_lengths(rates), 0.5);
  bool differ = false;
  double last = -1;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Rng rng(1, "test", i);
    const auto survival = all.draw_survival(rng);
    REQUIRE(survival.size() == 3);
    CHECK(survival[0] == 1);
    CHECK(survival[1] >= 0);
    CHECK(survival[1] <= 1);
    CHECK(survival[2] == 0);
    differ = differ || (last >= 0 && survival[1] != last);
    last = survival[1];
  }
  CHECK(differ);
}
