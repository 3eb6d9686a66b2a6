// SPDX-License-Identifier: Apache-2.0
#include "trace/step_statistics.h"

#include "core/rng.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

using Steps = std::vector<std::vector<int>>;
double value(const std::optional<BootstrapEstimate>& e) { return e.value().value; }

}  // namespace

TEST_CASE("statistics of steps are those that can be counted by head") {
  // Six steps emit 12 tokens. Two drafts at most: four steps accept the first one, two of these the second.
  const StepStatistics s = step_statistics(Steps{{3, 3, 2}, {}, {1, 1, 2}}, 2, 0);
  CHECK(s.texts == 2);
  CHECK(s.steps == 6);
  CHECK(s.tokens_per_step.value == 2);
  REQUIRE(s.positions.size() == 2);
  CHECK(value(s.positions[0].of_all) == Approx(4 / 6.0));
  CHECK(value(s.positions[1].of_all) == Approx(2 / 6.0));
  CHECK(value(s.positions[1].of_before) == Approx(2 / 4.0));
  // About the mean 2: pairs one apart have the products 1, 0, 1, 0; two apart 0, 0. The variance is 4 / 6.
  CHECK(value(s.autocorrelation[0]) == Approx((2 / 4.0) / (4 / 6.0)));
  CHECK(value(s.autocorrelation[1]) == Approx(0).margin(1e-12));
  CHECK_FALSE(s.autocorrelation[2]);
  // Means 8/3 and 4/3. Within: squares of deviations add up to 4/3, over 6 - 2; between: 2 x 3 x (2/3)^2 = 8/3, over 1.
  CHECK(value(s.variance_within) == Approx(1 / 3.0));
  CHECK(value(s.variance_between) == Approx((8 / 3.0 - 1 / 3.0) / 3));
  CHECK(value(s.intraclass_correlation) == Approx((7 / 9.0) / (7 / 9.0 + 1 / 3.0)));
}

TEST_CASE("intervals are of texts: equal texts leave none, one text has none") {
  const StepStatistics equal = step_statistics(Steps{{1, 3}, {1, 3}, {1, 3}}, 2, 0);
  REQUIRE(equal.tokens_per_step.interval);
  CHECK(equal.tokens_per_step.interval->low == 2);
  CHECK(equal.tokens_per_step.interval->high == 2);
  const StepStatistics unlike = step_statistics(Steps{{1, 1}, {3, 3}, {2, 2}}, 2, 0);
  CHECK(unlike.tokens_per_step.interval->low < 1.7);
  CHECK(unlike.tokens_per_step.interval->high > 2.3);
  CHECK(value(unlike.intraclass_correlation) == 1);
  const StepStatistics one = step_statistics(Steps{{1, 3}}, 2, 0);
  CHECK_FALSE(one.tokens_per_step.interval);
  CHECK_FALSE(one.intraclass_correlation);
  const StepStatistics constant = step_statistics(Steps{{1, 1}, {1, 1}}, 2, 0);
  CHECK_FALSE(constant.intraclass_correlation);
  CHECK_FALSE(constant.autocorrelation[0]);
  CHECK_FALSE(constant.positions[1].of_before);
}

TEST_CASE("the interval of a mean contains the true mean in nine samples of ten") {
  // 20 texts of ten equal steps, each of 1 or 3 tokens: a mean of 2.
  int contained = 0;
  constexpr int kSamples = 200;
  for (int sample = 0; sample < kSamples; ++sample) {
    Rng rng(7, "samples", at(sample));
    Steps texts;
    for (int i = 0; i < 20; ++i) texts.emplace_back(10, rng.uniform() < 0.5 ? 1 : 3);
    const Interval i = step_statistics(texts, 2, 0).tokens_per_step.interval.value();
    contained += i.low <= 2 && 2 <= i.high ? 1 : 0;
  }
  // Binomial around 180, or a little below, as percentiles of 20 texts are narrow; 166 is 3.3 standard deviations less.
  CHECK(contained >= 166);
  CHECK(contained < kSamples);
}
