// SPDX-License-Identifier: Apache-2.0
// Fits of several kernels, each of whose parts is fitted to the points of its kernel.
#pragma once
#include <string>
#include <vector>

#include "core/errors.h"
#include "model/calibration/coefficient_fit.h"
#include "model/devices/device.h"

namespace draftline {

// What parts are fitted for, as a file and messages name it, and where their covariances go; null: nowhere.
struct PartFitting {
  std::string kernels;  // "delta networks"
  const Device& datasheet;
  FitSpread* spread = nullptr;

  // Fits `part`, a member of `fit`, to the points that it prices.
  template <class Fit, class Part, class Point>
  void operator()(Fit& fit, Part Fit::*part, const std::string& name, const std::vector<Point>& points) const {
    constexpr double kHold = 0.01;
    if (points.empty()) throw InputErrors(kernels + ": no measured point of " + name);
    std::vector<Coefficient> coefficients;
    add_coefficients(coefficients, Part{}, kHold, name + ".");
    Fit tried = fit;
    const FittedValues best =
        fitted(coefficients, {}, std::ssize(points), [&](const std::vector<double>& values, Eigen::VectorXd& errors) {
          tried.*part = fit_of_values<Part>(values);
          set_log_errors(errors, points, [&](const Point& p) { return predicted(tried, datasheet, p); });
        });
    fit.*part = fit_of_values<Part>(best.values);
    if (spread == nullptr) return;
    spread->names.insert(spread->names.end(), best.spread.names.begin(), best.spread.names.end());
    spread->covariance.insert(spread->covariance.end(), best.spread.covariance.begin(), best.spread.covariance.end());
  }
};

}  // namespace draftline
