// SPDX-License-Identifier: Apache-2.0
// Relative errors (predicted / measured - 1; 0.05 is 5 %) of many cells in three figures.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace draftline {

// The number of cells, and the median, 90th percentile and largest size of their errors. These three do not exist
// without cells; quantiles are linear between order statistics.
struct ErrorSummary {
  std::size_t cells = 0;
  std::optional<double> median, p90, largest;
};
ErrorSummary summarize(const std::vector<double>& errors);
// Summarises errors with a weight for each, above zero: quantiles are linear between the middles of the weights.
ErrorSummary summarize(const std::vector<double>& errors, const std::vector<double>& weights);

}  // namespace draftline
