// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/error_summary.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "model/devices/fit_quality.h"

namespace draftline {

ErrorSummary summarize(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  std::vector<double> sizes;
  for (const double e : errors) sizes.push_back(std::abs(e));
  return {sizes.size(), quantile(sizes, 0.5), quantile(sizes, 0.9), *std::max_element(sizes.begin(), sizes.end())};
}

ErrorSummary summarize(const std::vector<double>& errors, const std::vector<double>& weights) {
  check(errors.size() == weights.size(), "a weight for each error");
  if (errors.empty()) return {};
  std::vector<std::pair<double, double>> sorted;
  double all = 0;
  for (std::size_t i = 0; i < errors.size(); ++i)
    sorted.emplace_back(std::abs(errors[i]), weights[i]), all += weights[i];
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    double before = 0, middle_before = 0, size_before = sorted.front().first;
    for (const auto& [size, weight] : sorted) {
      const double middle = (before + 0.5 * weight) / all;
      if (middle >= share)
        return middle == middle_before ? size
                                       : size_before + (size - size_before) * std::max(0.0, share - middle_before) /
                                                           (middle - middle_before);
      before += weight, middle_before = middle, size_before = size;
    }
    return sorted.back().first;
  };
  return {errors.size(), at(0.5), at(0.9), sorted.back().first};
}

}  // namespace draftline
