// SPDX-License-Identifier: Apache-2.0
#include "model/engine_fit.h"

#include <Eigen/Dense>
#include <algorithm>

#include "core/errors.h"
#include "model/fit_quality.h"

namespace draftline {

// host = step + op * ops + token * sequences, by least squares of the relative residuals; a cost below nothing is none.
HostFit fit_host(const Measured& m) {
  std::vector<MeasuredPoint> steps;
  HostFit f;
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    if (p.op == "step_host") steps.push_back(p);
    if (p.op == "segment_host") f.segment = p.median;
  }
  constexpr std::size_t kLeast = 3;
  if (steps.size() < kLeast || f.segment.value <= 0)
    throw InputErrors(m.file.string() +
                      "#/points: an engine needs three measured points of step_host and one of segment_host");
  const auto n = static_cast<Eigen::Index>(steps.size());
  Eigen::MatrixXd a(n, 3);
  for (Eigen::Index i = 0; i < n; ++i) {
    const MeasuredPoint& p = steps[static_cast<std::size_t>(i)];
    a.row(i) << 1.0, p.at("ops"), p.at("sequences");
    a.row(i) /= p.median.value;
  }
  std::vector<Eigen::Index> used{0, 1, 2};
  Eigen::VectorXd x;
  for (bool again = true; again;) {
    Eigen::MatrixXd part(n, static_cast<Eigen::Index>(used.size()));
    for (std::size_t j = 0; j < used.size(); ++j) part.col(static_cast<Eigen::Index>(j)) = a.col(used[j]);
    x = part.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(n));
    again = false;
    for (std::size_t j = 0; j < used.size() && !again; ++j)
      if (x[static_cast<Eigen::Index>(j)] < 0) used.erase(used.begin() + static_cast<std::ptrdiff_t>(j)), again = true;
  }
  std::array<double, 3> found{};
  for (std::size_t j = 0; j < used.size(); ++j)
    found[static_cast<std::size_t>(used[j])] = x[static_cast<Eigen::Index>(j)];
  f.op = Seconds{found[1]};
  f.token = Seconds{found[2]};
  f.segment = std::max(f.segment - f.op, Seconds{});            // its one op
  f.step = std::max(Seconds{found[0]} - f.segment, Seconds{});  // its one segment
  std::vector<double> errors;
  for (const MeasuredPoint& p : steps)
    errors.push_back(std::abs((found[0] + found[1] * p.at("ops") + found[2] * p.at("sequences")) / p.median.value - 1));
  f.median_error = quantile(errors, 0.5);
  f.worst_error = *std::max_element(errors.begin(), errors.end());
  return f;
}

}  // namespace draftline
