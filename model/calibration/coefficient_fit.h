// SPDX-License-Identifier: Apache-2.0
// Fitting the coefficients of a kernel's form: each as its logarithm between bounds, with a weak prior at its start, as
// several are hardly identified alone though their sum is (docs/explanation/kernel_model.md, "Fitting").
#pragma once
#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/int_indexed.h"
#include "model/devices/fit_fields.h"
#include "model/devices/fit_quality.h"

namespace draftline {

// `start` is the prior's centre, `hold` how tightly it holds: 0.05 of a data point's weight for each factor e.
struct Coefficient {
  std::string name;
  double start, hold, least, most;
};

template <class Fit>
void add_coefficients(std::vector<Coefficient>& all, const Fit& fit, double hold, const std::string& prefix = "") {
  for (const FitField<Fit>& f : fields_of(fit)) all.push_back({prefix + f.name, f.start, hold, f.low, f.high});
}

// A fit whose coefficients are the values from index `from` on.
template <class Fit>
Fit fit_of_values(const std::vector<double>& values, std::size_t from = 0) {
  Fit fit;
  for (const FitField<Fit>& f : fields_of(fit)) f.of(fit) = values[from++];
  return fit;
}

struct FittedValues {
  std::vector<double> values;
  FitSpread spread;
};
using LogErrors = std::function<void(const std::vector<double>& values, Eigen::VectorXd& errors)>;

// Logarithms of predicted over measured, of each point.
template <class Point, class Predicted>
void set_log_errors(Eigen::VectorXd& errors, const std::vector<Point>& points, Predicted predicted) {
  for (Eigen::Index i = 0; i < std::ssize(points); ++i)
    errors[i] = std::log(predicted(points[at(i)]) / points[at(i)].time);
}

// Fits from every one of `starts` of the last coefficient and keeps the best; no starts: from its own. `log_errors`
// fills `points` residuals.
FittedValues fitted(std::span<const Coefficient>, std::span<const double> starts, Eigen::Index points,
                    const LogErrors& log_errors);

}  // namespace draftline
