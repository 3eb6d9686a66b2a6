// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/pooled_steps.h"

#include <algorithm>

namespace draftline {

void PooledSteps::add(double steps, double accepted, std::optional<double> drafted) {
  steps_ += steps;
  accepted_ += accepted;
  drafted_ += drafted.value_or(0);
  all_drafted_ = all_drafted_ && drafted;
}

void PooledSteps::add_positions(double steps, const std::vector<double>& shares) {
  steps_with_positions_ += steps;
  by_position_.resize(std::max(by_position_.size(), shares.size()));
  for (std::size_t i = 0; i < shares.size(); ++i) by_position_[i] += shares[i] * steps;
}

std::optional<ServedAcceptance> PooledSteps::acceptance() const {
  if (!(steps_ > 0)) return std::nullopt;
  ServedAcceptance a;
  a.mean_length = 1 + accepted_ / steps_;
  if (all_drafted_) a.mean_drafts = drafted_ / steps_;
  if (steps_with_positions_ > 0.99 * steps_)
    for (const double accepted : by_position_)
      a.per_position.push_back(
          std::min(accepted / steps_with_positions_, a.per_position.empty() ? 1.0 : a.per_position.back()));
  while (!a.per_position.empty() && a.per_position.back() == 0) a.per_position.pop_back();  // deeper than is drafted
  return a;
}

}  // namespace draftline
