// SPDX-License-Identifier: Apache-2.0
// Relative errors (predicted / measured - 1; 0.05 is 5 %) of many cells in three figures.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace draftline {

// Of the errors' sizes. None of the figures exists without cells; quantiles are linear between order statistics.
struct ErrorSummary {
  std::size_t cells = 0;
  std::optional<double> median, p90, largest;
};
ErrorSummary summarize(const std::vector<double>& errors);
// The same with a weight for each error, above zero: the quantiles are linear between the middles of the weights.
ErrorSummary summarize(const std::vector<double>& errors, const std::vector<double>& weights);

}  // namespace draftline
