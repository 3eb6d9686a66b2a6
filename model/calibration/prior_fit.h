// SPDX-License-Identifier: Apache-2.0
// A fit of few measurements with as many unknowns, or more: each unknown has a prior, and what the measurements don't
// say stays as wide as that. Bayesian least squares, by the normal approximation at the posterior's mode (Gelman and
// others, Bayesian Data Analysis, chapters 4 and 14).
#pragma once
#include <functional>
#include <span>
#include <vector>

namespace draftline {

// How far measurements lie from the model at its best: a scaled inverse chi-squared prior of their variance.
struct NoisePrior {
  double deviation = 0.02;  // of a logarithm
  double weight = 4;        // in measurements
};

struct PriorFit {
  std::vector<double> at;  // unknowns at the mode, in standard deviations of their priors from the priors' centres
  std::vector<std::vector<double>> covariance, information;  // of these, one the other's inverse; the prior's is 1
  std::vector<double> errors;                                // logarithms of predicted over measured
  double noise = 0;                                          // standard deviation of the errors
  double freedom = 0;                                        // degrees of it
  double log_evidence = 0;  // of this model against another one of the same measurements and priors

  double deviation(std::size_t unknown) const;                                  // after the measurements
  double learned(std::size_t unknown) const { return 1 - deviation(unknown); }  // 0: nothing; 1: all
  // Whether two unknowns act alike: one would be narrowed to less than half if all others were known, or one is left to
  // its prior while the other is known only because of that.
  bool confused(std::size_t one, std::size_t other) const;
  double spread(double probability = 0.9) const;  // standard deviations to either side of an interval (Student's t)
};

// Logarithms of the predicted times at given unknowns, in the order of `measured`.
using LogTimes = std::function<std::vector<double>(std::span<const double>)>;
PriorFit fit_with_priors(const LogTimes&, std::span<const double> measured, std::size_t unknowns,
                         const NoisePrior& = {});

// The error of each measurement by the fit to all others.
std::vector<double> errors_left_out(const LogTimes&, std::span<const double> measured, std::size_t unknowns,
                                    const NoisePrior& = {});

}  // namespace draftline
