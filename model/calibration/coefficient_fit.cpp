// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/coefficient_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/int_indexed.h"
#include "model/calibration/least_squares.h"

namespace draftline {
namespace {

// Between the bounds, whatever the unknown: a logistic curve over the logarithm.
double value_of(const Coefficient& c, double unknown) {
  const double low = std::log(c.least), high = std::log(c.most);
  return std::exp(low + (high - low) / (1 + std::exp(-unknown)));
}
double unknown_of(const Coefficient& c) {
  const double share = std::log(c.start / c.least) / std::log(c.most / c.least);
  return std::log(share / (1 - share));
}

}  // namespace

FittedValues fitted(std::span<const Coefficient> coefficients, std::span<const double> starts, Eigen::Index points,
                    const LogErrors& log_errors) {
  const Eigen::Index n = std::ssize(coefficients);
  const auto values = [&](const Eigen::VectorXd& unknowns) {
    std::vector<double> v;
    for (Eigen::Index i = 0; i < n; ++i) v.push_back(value_of(coefficients[at(i)], unknowns[i]));
    return v;
  };
  Eigen::VectorXd start(n);
  for (Eigen::Index i = 0; i < n; ++i) start[i] = unknown_of(coefficients[at(i)]);
  LeastSquaresResult best;
  best.loss = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < std::max<std::size_t>(starts.size(), 1); ++s) {
    Eigen::VectorXd here = start;
    Coefficient last = coefficients.back();
    if (!starts.empty()) last.start = starts[s];
    here[n - 1] = unknown_of(last);
    const auto result = least_squares(
        [&](const Eigen::VectorXd& unknowns) {
          Residuals r{Eigen::VectorXd(points), Eigen::VectorXd(n)};
          log_errors(values(unknowns), r.data);
          for (Eigen::Index i = 0; i < n; ++i) r.prior[i] = coefficients[at(i)].hold * (unknowns[i] - start[i]);
          return r;
        },
        here);
    if (result.loss < best.loss) best = result;
  }
  // The covariance is taken from the unknowns to the logarithms of the coefficients by the slope of the logistic curve.
  FittedValues b{values(best.at), {}};
  const auto slope = [&](Eigen::Index i) {
    const Coefficient& c = coefficients[at(i)];
    const double share = 1 / (1 + std::exp(-best.at[i]));
    return std::log(c.most / c.least) * share * (1 - share);
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    b.spread.names.emplace_back(coefficients[at(i)].name);
    b.spread.covariance.emplace_back();
    for (Eigen::Index j = 0; j < n; ++j)
      b.spread.covariance.back().push_back(slope(i) * slope(j) * best.covariance(i, j));
  }
  return b;
}

}  // namespace draftline
