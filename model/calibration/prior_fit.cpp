// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/prior_fit.h"

#include <Eigen/Cholesky>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/calibration/least_squares.h"

namespace draftline {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Predicted = std::function<VectorXd(const VectorXd&)>;

std::vector<double> plain(const VectorXd& v) { return {v.data(), v.data() + v.size()}; }
VectorXd vector_of(std::span<const double> v) { return Eigen::Map<const VectorXd>(v.data(), std::ssize(v)); }
Predicted with_vectors(const LogTimes& predicted) {
  return [&predicted](const VectorXd& x) { return vector_of(predicted({x.data(), at(x.size())})); };
}

MatrixXd jacobian_of(const Predicted& predicted, const VectorXd& at, Eigen::Index points) {
  constexpr double kStep = 1e-4;
  MatrixXd j(points, at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    VectorXd above = at, below = at;
    above[i] += kStep;
    below[i] -= kStep;
    j.col(i) = (predicted(above) - predicted(below)) / (2 * kStep);
  }
  return j;
}

struct Mode {
  VectorXd at, errors;
  MatrixXd covariance, information;
};

// The mode and its curvature, if measurements scatter by `noise`.
Mode mode_at(const Predicted& predicted, const VectorXd& measured, const VectorXd& start, double noise) {
  constexpr double kOutlier = 3;  // standard deviations from which on a measurement pulls no harder
  Mode m;
  m.at = least_squares(
             [&](const VectorXd& x) {
               return Residuals{(predicted(x) - measured) / noise, x};
             },
             start, {.scale = kOutlier})
             .at;
  m.errors = predicted(m.at) - measured;
  MatrixXd j = jacobian_of(predicted, m.at, measured.size());
  for (Eigen::Index i = 0; i < j.rows(); ++i) {
    const double outlying = m.errors[i] / (kOutlier * noise);
    j.row(i) /= noise * std::pow(1 + outlying * outlying, 0.25);
  }
  const Eigen::Index n = start.size();
  m.information = j.transpose() * j + MatrixXd::Identity(n, n);
  m.covariance = m.information.ldlt().solve(MatrixXd::Identity(n, n));
  return m;
}

// The logarithm of the evidence, by the mode's normal approximation (Laplace), but for what all models of the same
// measurements share.
double log_evidence_of(const Mode& m, double noise) {
  const double data = m.errors.squaredNorm() / (noise * noise) + 2 * count(m.errors) * std::log(noise);
  return -0.5 * (data + m.at.squaredNorm()) +
         m.covariance.llt().matrixL().toDenseMatrix().diagonal().array().log().sum();
}

}  // namespace

double PriorFit::deviation(std::size_t unknown) const { return std::sqrt(covariance[unknown][unknown]); }

bool PriorFit::confused(std::size_t one, std::size_t other) const {
  constexpr double kAlike = 0.7, kParallel = 0.95;  // correlations
  constexpr double kKnown = 0.3, kHalf = 0.5,
                   kLeft = 0.7;  // deviations: known well enough, half learned, left to the prior
  const auto of_data = [&](std::size_t i, std::size_t j) { return information[i][j] - (i == j ? 1 : 0); };
  const auto alike = [&](auto&& matrix) {
    return std::abs(matrix(one, other)) / std::sqrt(matrix(one, one) * matrix(other, other));
  };
  const auto hidden = [&](std::size_t i) {
    const double alone = 1 / std::sqrt(information[i][i]);
    return deviation(i) > kKnown && alone < kHalf * deviation(i);
  };
  if (alike([&](std::size_t i, std::size_t j) { return information[i][j]; }) > kAlike && (hidden(one) || hidden(other)))
    return true;
  // Both explain the same data, and the one with the wider prior took it all: the other was left at its prior.
  const auto left_to = [&](std::size_t i, std::size_t j) { return deviation(i) > kLeft && deviation(j) < kHalf; };
  return alike(of_data) > kParallel && (left_to(one, other) || left_to(other, one));
}

double PriorFit::spread(double probability) const {
  return quantile(boost::math::students_t(freedom), 0.5 + probability / 2);
}

PriorFit fit_with_priors(const LogTimes& times, std::span<const double> measured_times, std::size_t unknowns,
                         const NoisePrior& prior) {
  constexpr int kMostRounds = 20;
  constexpr double kSettled = 1e-3;
  check(!measured_times.empty() && unknowns > 0, "a fit has measurements and unknowns");
  const Predicted predicted = with_vectors(times);
  const VectorXd measured = vector_of(measured_times);
  const auto points = static_cast<double>(measured.size()), terms = static_cast<double>(unknowns);
  PriorFit fit;
  fit.noise = prior.deviation;
  Mode m = mode_at(predicted, measured, VectorXd::Zero(static_cast<Eigen::Index>(unknowns)), fit.noise);
  for (int round = 0; round < kMostRounds; ++round) {
    const double used = terms - m.covariance.trace();  // unknowns that the measurements decide
    fit.freedom = prior.weight + points - used;
    const double noise =
        std::sqrt((prior.weight * prior.deviation * prior.deviation + m.errors.squaredNorm()) / fit.freedom);
    const bool settled = std::abs(noise / fit.noise - 1) < kSettled;
    fit.noise = noise;
    if (settled) break;
    m = mode_at(predicted, measured, m.at, noise);
  }
  fit.at = plain(m.at);
  fit.errors = plain(m.errors);
  for (Eigen::Index i = 0; i < m.covariance.rows(); ++i) {
    fit.covariance.push_back(plain(m.covariance.row(i)));
    fit.information.push_back(plain(m.information.row(i)));
  }
  fit.log_evidence = log_evidence_of(m, fit.noise);
  return fit;
}

std::vector<double> errors_left_out(const LogTimes& times, std::span<const double> measured, std::size_t unknowns,
                                    const NoisePrior& prior) {
  std::vector<double> errors;
  for (std::size_t left = 0; left < measured.size(); ++left) {
    const auto others = [left](std::span<const double> all) {
      std::vector<double> some(all.begin(), all.end());
      some.erase(some.begin() + static_cast<std::ptrdiff_t>(left));
      return some;
    };
    std::vector<double> at(unknowns);  // without any other measurement: the priors'
    if (measured.size() > 1) {
      const LogTimes seen = [&](std::span<const double> x) { return others(times(x)); };
      at = fit_with_priors(seen, others(measured), unknowns, prior).at;
    }
    errors.push_back(times(at)[left] - measured[left]);
  }
  return errors;
}

}  // namespace draftline
