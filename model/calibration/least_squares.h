// SPDX-License-Identifier: Apache-2.0
// Robust non-linear least squares: Levenberg-Marquardt with a numeric Jacobian and a soft-L1 loss.
#pragma once
#include <Eigen/Core>
#include <functional>

namespace draftline {

struct LeastSquaresOptions {
  double scale = 0.05;  // soft-L1: residuals well above it count linearly
  int most_steps = 40;
  double least_gain = 1e-6;  // stop when a step lowers the loss by less than this share
};

// Minimises sum of 2 s^2 (sqrt(1 + (r/s)^2) - 1) over the residuals of the data, plus sum of r^2 over those of the
// priors.
struct Residuals {
  Eigen::VectorXd data, prior;
};
struct LeastSquaresResult {
  Eigen::VectorXd at;
  double loss = 0;
  int steps = 0;
  Eigen::MatrixXd covariance;  // of the unknowns, from the curvature at the end and the residuals' spread
};
LeastSquaresResult least_squares(const std::function<Residuals(const Eigen::VectorXd&)>&, Eigen::VectorXd start,
                                 const LeastSquaresOptions& = {});

}  // namespace draftline
