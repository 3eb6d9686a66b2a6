// SPDX-License-Identifier: Apache-2.0
// Verifying steps of several lines, requests or engines, added up: acceptance is the ratio of sums, so that each step
// counts alike.
#pragma once
#include <optional>
#include <vector>

#include "inputs/served_acceptance.h"

namespace draftline {

class PooledSteps {
 public:
  void add(double steps, double accepted, std::optional<double> drafted = std::nullopt);
  // `shares`: of the same steps, those in which the draft at each position was accepted.
  void add_positions(double steps, const std::vector<double>& shares);
  std::optional<ServedAcceptance> acceptance() const;  // none without a step

 private:
  double steps_ = 0, accepted_ = 0, drafted_ = 0, steps_with_positions_ = 0;
  bool all_drafted_ = true;          // the drafts of every step are known
  std::vector<double> by_position_;  // steps in which that draft was accepted
};

}  // namespace draftline
