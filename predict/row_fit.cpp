// SPDX-License-Identifier: Apache-2.0
#include "predict/row_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace draftline {

namespace {

using Points = std::vector<const ServedPoint*>;

double error(const ServedPoint& p, const Engine& e) { return std::log(predicted_time(p, e) / p.run.time); }

double mean_error(const Points& points, const Engine& e) {
  double sum = 0;
  for (const ServedPoint* p : points) sum += error(*p, e);
  return sum / static_cast<double>(points.size());
}

// The work with which these steps, all of so many rows, are met on average; 0 if their bytes alone take longer.
double work_of_steps(const Points& steps, Engine e) {
  constexpr double kMost = 1e6;
  constexpr int kHalvings = 40;
  const int rows = steps.front()->run.rows;
  double low = 0, high = kMost;
  for (int i = 0; i < kHalvings && high > 1.0005 * low; ++i) {
    const double middle = low > 0 ? std::sqrt(low * high) : std::min(1.0, high / 2);
    e.row_work = {{rows, middle}};
    (mean_error(steps, e) > 0 ? high : low) = middle;
    if (high < 1e-3) return 0;
  }
  return std::sqrt(low * high);
}

struct RowFit {
  Engine engine;
  double scatter = 0;  // sum of squares of the steps' errors
};

RowFit fit_with(double pair_work, const std::map<int, Points>& by_rows, Engine e) {
  RowFit fit{e};
  fit.engine.pair_work = e.pair_work = pair_work;
  fit.engine.row_work.clear();
  for (const auto& [rows, steps] : by_rows) fit.engine.row_work.push_back({rows, work_of_steps(steps, e)});
  for (const auto& [rows, steps] : by_rows)
    for (const ServedPoint* p : steps) fit.scatter += std::pow(error(*p, fit.engine), 2);
  return fit;
}

}  // namespace

bool are_steps_by_rows(const std::vector<ServedPoint>& points) {
  return std::any_of(points.begin(), points.end(), [](const ServedPoint& p) { return p.run.rows > 1; });
}

Engine fitted_to_rows(const std::vector<ServedPoint>& points, const Engine& shipped) {
  constexpr double kLeast = 0.25, kMost = 64, kGolden = 0.618;
  constexpr int kSteps = 14;
  std::map<int, Points> by_rows;
  for (const ServedPoint& p : points)
    if (!p.run.speculates() && p.setup.batch_size == 1) by_rows[p.run.rows].push_back(&p);
  double low = std::log(kLeast), high = std::log(kMost);  // golden section
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  RowFit at_a = fit_with(std::exp(a), by_rows, shipped), at_b = fit_with(std::exp(b), by_rows, shipped);
  for (int i = 0; i < kSteps; ++i) {
    if (at_a.scatter < at_b.scatter) {
      high = b, b = a, at_b = at_a;
      a = high - kGolden * (high - low), at_a = fit_with(std::exp(a), by_rows, shipped);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + kGolden * (high - low), at_b = fit_with(std::exp(b), by_rows, shipped);
    }
  }
  return at_a.scatter < at_b.scatter ? at_a.engine : at_b.engine;
}

std::vector<ServedPoint> under(std::vector<ServedPoint> points, const Engine& e) {
  const auto engine = std::make_shared<const Engine>(e);
  for (ServedPoint& p : points) p.setup.engine = engine;
  return points;
}

}  // namespace draftline
