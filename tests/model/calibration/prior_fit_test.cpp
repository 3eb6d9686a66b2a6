// SPDX-License-Identifier: Apache-2.0
// Fits with priors: exact where the sum can be done in the head, honest intervals where it can't.
#include "model/calibration/prior_fit.h"

#include <Eigen/Core>
#include <cmath>
#include <random>

#include "tests/catch.h"

using namespace draftline;

namespace {

LogTimes linear(const Eigen::MatrixXd& a) {
  return [a](std::span<const double> x) {
    const Eigen::VectorXd y = a * Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
    return std::vector<double>(y.data(), y.data() + y.size());
  };
}
using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("one measurement of one unknown meets its prior where their variances say") {
  // Prior 0 +- 1, measured 0.1 +- 0.02: 0.1 x 1 / (1 + 0.02^2), and the noise stays near its prior, as it explains the
  // rest.
  const PriorFit f = fit_with_priors(linear(Eigen::MatrixXd::Identity(1, 1)), Numbers({0.1}), 1);
  CHECK(f.at[0] == Approx(0.1 / (1 + f.noise * f.noise)).epsilon(1e-4));
  CHECK(f.covariance[0][0] == Approx(f.noise * f.noise / (1 + f.noise * f.noise)).epsilon(1e-4));
  CHECK(f.noise == Approx(0.02).epsilon(0.05));
  CHECK(f.learned(0) > 0.97);
}

TEST_CASE("an unknown that no measurement depends on stays as wide as its prior") {
  Eigen::MatrixXd a(3, 2);
  a << 1, 0, 1, 0, 1, 0;
  const PriorFit f = fit_with_priors(linear(a), Numbers({0.5, 0.5, 0.5}), 2);
  CHECK(f.at[1] == Approx(0).margin(1e-6));
  CHECK(f.learned(1) == Approx(0).margin(1e-3));
  CHECK_FALSE(f.confused(0, 1));
}

TEST_CASE("two unknowns of which only the sum is measured are shared between the priors, and told as one") {
  Eigen::MatrixXd a(4, 2);
  a << 1, 1, 1, 1, 1, 1, 1, 1;
  const PriorFit f = fit_with_priors(linear(a), Numbers({0.4, 0.4, 0.4, 0.4}), 2);
  CHECK(f.at[0] == Approx(0.2).epsilon(1e-3));
  CHECK(f.at[1] == Approx(0.2).epsilon(1e-3));
  CHECK(f.confused(0, 1));
  // A third unknown that acts alike makes no pair less confused; a measurement of one alone tells.
  Eigen::MatrixXd three(4, 3);
  three << 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1;
  const PriorFit more = fit_with_priors(linear(three), Numbers({0.4, 0.4, 0.4, 0.4}), 3);
  CHECK((more.confused(0, 1) && more.confused(1, 2) && more.confused(0, 2)));
  a.row(3) << 1, 0;
  CHECK_FALSE(fit_with_priors(linear(a), Numbers({0.4, 0.4, 0.4, 0.2}), 2).confused(0, 1));
}

TEST_CASE("noise is what the measurements show, once there are many") {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Numbers measured(400);
  for (double& y : measured) y = 0.3 + 0.1 * normal(random);
  const PriorFit f = fit_with_priors(linear(Eigen::MatrixXd::Ones(400, 1)), measured, 1);
  CHECK(f.noise == Approx(0.1).epsilon(0.12));  // three standard errors of a standard deviation of 400
  CHECK(f.at[0] == Approx(0.3).margin(0.015));
}

TEST_CASE("90 % intervals hold nine in ten of unknowns drawn from their priors, also of few measurements") {
  // Four measurements of three unknowns, two of which nearly act alike.
  Eigen::MatrixXd a(4, 3);
  a << 0.2, 0.1, 0.0, 0.19, 0.1, 0.05, 0.17, 0.09, 0.1, 0.1, 0.05, 0.3;
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  int inside = 0, all = 0;
  for (int server = 0; server < 200; ++server) {
    const Numbers truth({normal(random), normal(random), normal(random)});
    Numbers measured = linear(a)(truth);
    for (double& y : measured) y += 0.02 * normal(random);
    const PriorFit f = fit_with_priors(linear(a), measured, 3);
    for (std::size_t i = 0; i < 3; ++i, ++all) inside += std::abs(f.at[i] - truth[i]) <= f.spread() * f.deviation(i);
  }
  CHECK(inside >= 0.87 * all);  // 600 draws, of which 200 are independent: 0.9 less 1.4 standard errors
  CHECK(inside <= 0.96 * all);
}

TEST_CASE("what a fit has not seen it predicts from the others") {
  Eigen::MatrixXd a(3, 1);
  a << 1, 1, 1;
  const Numbers left = errors_left_out(linear(a), Numbers({0.3, 0.3, 0.36}), 1);
  CHECK(left[2] == Approx(-0.06).margin(0.002));
  CHECK(left[0] == Approx(0.03).margin(0.002));
  CHECK(errors_left_out(linear(a.topRows(1)), Numbers({0.3}), 1)[0] == Approx(-0.3));  // no other: the prior
}

TEST_CASE("a measurement far from all others pulls less than it does on a mean") {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Ones(8, 1);
  const PriorFit f = fit_with_priors(linear(a), Numbers({0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 1.5}), 1);
  CHECK(f.at[0] - 0.3 < 0.7 * 0.15);  // the mean is 0.45; it widens the noise as well, which lets it pull at all
}
