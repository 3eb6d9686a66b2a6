// SPDX-License-Identifier: Apache-2.0
#include "model/devices/fit_quality.h"

#include "core/int_indexed.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace draftline {

static constexpr double kLooseLog = 0.35;  // known no better than by a factor e^0.35: it sits on its prior
static constexpr std::size_t kPointsPerCoefficient = 10;

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * (count(values) - 1);
  const auto below = static_cast<std::size_t>(place);
  const double rest = place - static_cast<double>(below);
  return below + 1 < values.size() ? values[below] * (1 - rest) + values[below + 1] * rest : values.back();
}

FitQuality judged(std::string op, const std::vector<std::vector<double>>& log_ratio) {
  constexpr double kTail = (1 - kIntervalShare) / 2;
  FitQuality q;
  q.op = std::move(op);
  std::vector<double> all, errors;
  for (const auto& fold : log_ratio) all.insert(all.end(), fold.begin(), fold.end());
  q.points = count(all);
  if (all.empty()) {
    q.warnings.push_back("too few shapes to leave any out: its errors are unknown");
    return q;
  }
  q.known = true;
  for (const double x : all) {
    errors.push_back(std::abs(std::exp(-x) - 1));
    q.mean += errors.back() / count(all);
  }
  q.median = quantile(errors, 0.5);
  q.p90 = quantile(errors, 0.9);
  q.low = std::exp(quantile(all, kTail));
  q.high = std::exp(quantile(all, 1 - kTail));
  int inside = 0;
  for (std::size_t fold = 0; fold < log_ratio.size(); ++fold) {
    std::vector<double> others;
    for (std::size_t o = 0; o < log_ratio.size(); ++o)
      if (o != fold) others.insert(others.end(), log_ratio[o].begin(), log_ratio[o].end());
    if (others.empty()) continue;
    const double low = quantile(others, kTail), high = quantile(others, 1 - kTail);
    for (const double x : log_ratio[fold]) inside += x >= low && x <= high;
  }
  q.coverage = 1.0 * inside / count(all);
  return q;
}

void note_spread(FitQuality& q, FitSpread spread) {
  q.spread = std::move(spread);
  for (std::size_t i = 0; i < q.spread.names.size(); ++i)
    if (std::sqrt(std::max(q.spread.covariance[i][i], 0.0)) > kLooseLog)
      q.warnings.push_back("\"" + q.spread.names[i] + "\" is hardly seen in these data: it stands near its prior");
  if (at(q.points) < kPointsPerCoefficient * q.spread.names.size())
    q.warnings.push_back("only " + std::to_string(q.points) + " points for " + std::to_string(q.spread.names.size()) +
                         " coefficients");
}

}  // namespace draftline
