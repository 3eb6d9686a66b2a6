// SPDX-License-Identifier: Apache-2.0
// Rank tests against values worked out by hand and against textbook examples.
#include "model/calibration/rank_test.h"

#include <algorithm>
#include <numeric>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("Mann and Whitney's U by hand: 8 values, all below 8 others") {
  // U = 0, its mean 32, its variance 8 * 8 * 17 / 12 = 90.67; z = (32 - 0.5) / 9.522 = 3.308, two-sided p = 0.00094
  const std::vector<double> a{1, 2, 3, 4, 5, 6, 7, 8}, b{9, 10, 11, 12, 13, 14, 15, 16};
  CHECK(mann_whitney_p(a, b) == Approx(0.00094).epsilon(0.005));
  CHECK(mann_whitney_p(b, a) == Approx(mann_whitney_p(a, b)));
}

TEST_CASE("Mann and Whitney's test of Hollander and Wolfe's permeability data") {
  // Nonparametric Statistical Methods (1973), pages 69-70: W = 35, exact two-sided p = 0.2544; the approximation by
  // hand is z = (35 - 25 - 0.5) / sqrt(10 * 5 * 16 / 12) = 1.1635, p = 0.2446.
  const std::vector<double> term{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
      early{1.15, 0.88, 0.90, 0.74, 1.21};
  CHECK(mann_whitney_p(term, early) == Approx(0.2446).epsilon(0.001));
  CHECK(std::abs(mann_whitney_p(term, early) - 0.2544) < 0.01);
}

TEST_CASE("ties share their rank and lessen the variance") {
  // Ranks of 1 2 2 3 | 2 3 3 4: 1, 3 3 3 (three 2s), 6 6 6 (three 3s), 8. U = 1+3+3+6 - 10 = 3; mean 8.
  // Variance 4 * 4 / 12 * (9 - (24 + 24) / (8 * 7)) = 10.857; z = (5 - 0.5) / 3.295 = 1.3657, p = 0.172.
  CHECK(mann_whitney_p({1, 2, 2, 3}, {2, 3, 3, 4}) == Approx(0.172).epsilon(0.005));
}

TEST_CASE("Wilcoxon's signed ranks by hand: 8 differences, all positive") {
  // V = 36, its mean 18, its variance 8 * 9 * 17 / 24 = 51; z = 17.5 / 7.141 = 2.4505, p = 0.01427
  CHECK(signed_rank_p({1, 2, 3, 4, 5, 6, 7, 8}) == Approx(0.01427).epsilon(0.005));
  CHECK(signed_rank_p({-1, -2, -3, -4, -5, -6, -7, -8}) == Approx(0.01427).epsilon(0.005));
}

TEST_CASE("Wilcoxon's signed ranks of Hollander and Wolfe's depression data") {
  // Page 29: V = 40 of 9 pairs, exact two-sided p = 0.0391; by hand z = (40 - 22.5 - 0.5) / sqrt(71.25) = 2.014, p =
  // 0.0440.
  const std::vector<double> before{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
      after{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> differences;
  for (std::size_t i = 0; i < before.size(); ++i) differences.push_back(before[i] - after[i]);
  CHECK(signed_rank_p(differences) == Approx(0.0440).epsilon(0.005));
}

TEST_CASE("samples that say nothing have a probability of 1") {
  CHECK(mann_whitney_p({}, {1, 2}) == 1);
  CHECK(mann_whitney_p({3, 3, 3}, {3, 3}) == 1);
  CHECK(mann_whitney_p({1, 2, 3}, {1, 2, 3}) == 1);
  CHECK(signed_rank_p({}) == 1);
  CHECK(signed_rank_p({0, 0}) == 1);
  CHECK(signed_rank_p({1, -1}) == 1);
}

TEST_CASE("a median's 95 % interval lies between order statistics") {
  // Of 25 values the 8th and the 18th: their coverage is 1 - 2 P(binomial(25, 1/2) <= 7) = 95.7 %.
  std::vector<double> values(25);
  std::iota(values.begin(), values.end(), 1.0);
  std::reverse(values.begin(), values.end());
  CHECK(median_interval(values).low == 8);
  CHECK(median_interval(values).high == 18);
  CHECK(median_interval({3, 1, 2}).low == 1);
  CHECK(median_interval({3, 1, 2}).high == 3);
  CHECK(median_interval({5}).low == 5);
}
