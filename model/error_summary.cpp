// SPDX-License-Identifier: Apache-2.0
#include "model/error_summary.h"

#include <algorithm>
#include <cmath>

#include "model/fit_quality.h"

namespace draftline {

ErrorSummary summarize(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  std::vector<double> sizes;
  for (const double e : errors) sizes.push_back(std::abs(e));
  return {sizes.size(), quantile(sizes, 0.5), quantile(sizes, 0.9), *std::max_element(sizes.begin(), sizes.end())};
}

}  // namespace draftline
