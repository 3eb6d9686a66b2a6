// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/least_squares.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "core/errors.h"

namespace draftline {
namespace {

double loss_of(const Residuals& r, double scale) {
  double sum = r.prior.squaredNorm();
  for (const double x : r.data) sum += 2 * scale * scale * (std::sqrt(1 + x * x / (scale * scale)) - 1);
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

}  // namespace

LeastSquaresResult least_squares(const std::function<Residuals(const Eigen::VectorXd&)>& residuals, Eigen::VectorXd x,
                                 const LeastSquaresOptions& options) {
  constexpr double kStep = 1e-5, kMostDamping = 1e10;
  Residuals r = residuals(x);
  double loss = loss_of(r, options.scale), damping = 1e-3;
  check(std::isfinite(loss), "a fit starts where its residuals are finite");
  LeastSquaresResult result;
  const Eigen::Index n = x.size(), data = r.data.size(), all = data + r.prior.size();
  const auto jacobian_at = [&](const Eigen::VectorXd& here, const Residuals& there_now) {
    Eigen::MatrixXd jacobian(all, n);
    for (Eigen::Index j = 0; j < n; ++j) {
      Eigen::VectorXd moved = here;
      moved[j] += kStep;
      const Residuals there = residuals(moved);
      jacobian.col(j) << (there.data - there_now.data) / kStep, (there.prior - there_now.prior) / kStep;
    }
    return jacobian;
  };
  const auto weights_of = [&](const Eigen::VectorXd& values) {  // they turn the robust loss into squares around here
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(all);
    for (Eigen::Index i = 0; i < data; ++i)
      weights[i] = 1 / std::sqrt(1 + values[i] * values[i] / (options.scale * options.scale));
    return weights;
  };
  for (; result.steps < options.most_steps && damping < kMostDamping; ++result.steps) {
    Eigen::VectorXd values(all);
    values << r.data, r.prior;
    const Eigen::VectorXd weights = weights_of(values);
    const Eigen::MatrixXd jacobian = jacobian_at(x, r);
    const Eigen::MatrixXd weighted = weights.asDiagonal() * jacobian;
    const Eigen::MatrixXd normal = jacobian.transpose() * weighted;
    const Eigen::VectorXd gradient = weighted.transpose() * values;
    double gain = 0;
    while (damping < kMostDamping) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-9).matrix();
      const Eigen::VectorXd candidate = x - damped.ldlt().solve(gradient);
      const Residuals there = candidate.allFinite() ? residuals(candidate) : Residuals{};
      const double loss_there = candidate.allFinite() ? loss_of(there, options.scale) : loss + 1;
      if (loss_there < loss) {
        gain = (loss - loss_there) / loss;
        x = candidate;
        r = there;
        loss = loss_there;
        damping = std::max(damping / 5, 1e-9);
        break;
      }
      damping *= 4;
    }
    if (gain < options.least_gain) break;
  }
  Eigen::VectorXd values(all);
  values << r.data, r.prior;
  const Eigen::VectorXd weights = weights_of(values);
  const Eigen::MatrixXd jacobian = jacobian_at(x, r);
  Eigen::MatrixXd curvature = jacobian.transpose() * weights.asDiagonal() * jacobian;
  curvature.diagonal().array() += 1e-12;
  const double spread = (weights.array() * values.array().square()).sum() / std::max(1.0, static_cast<double>(all - n));
  result.covariance = spread * curvature.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  result.at = x;
  result.loss = loss;
  return result;
}

}  // namespace draftline
