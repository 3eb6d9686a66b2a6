// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/draft_ahead.h"

#include <functional>
#include <numeric>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "model/acceptance/acceptance.h"

namespace draftline {

DraftAhead::DraftAhead(std::span<const double> rates) : rates_(rates.begin(), rates.end()) {
  check(rates_.size() >= 2, "a window that is drafted ahead has at least two drafts");
}

DraftAhead DraftAhead::alike(double rate, int window) { return DraftAhead(std::vector<double>(at(window), rate)); }

DraftAhead DraftAhead::of_mean_length(double mean_length, int window) {
  if (!(mean_length >= 1 && mean_length <= window))
    throw InputErrors("a mean length of windows of " + std::to_string(window) +
                      " drafts that are drafted ahead lies in [1, " + std::to_string(window) + "]");
  double low = 0, high = 1;
  if (mean_length == window) return alike(1, window);
  while (true) {  // the length rises with the rate
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return alike(middle, window);
    (alike(middle, window).mean_length() < mean_length ? low : high) = middle;
  }
}

double DraftAhead::post_verify_share() const {
  const double all = std::accumulate(rates_.begin(), rates_.end(), 1.0, std::multiplies<>());
  return rates_.front() / (1 + rates_.front() - all);
}

double DraftAhead::mean_length() const {
  const double post = post_verify_share();
  return (1 - post) + post * chain_lengths(pending_rates()).mean();
}

}  // namespace draftline
