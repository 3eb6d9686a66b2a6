// SPDX-License-Identifier: Apache-2.0
// The price of a step whose drafter runs on the target's device or on one of its own. Two devices either alternate,
// because drafting waits for the verification, or work concurrently, on a step and the next one:
//
//   in turn  step = draft + verify + messages      ahead  step = max(draft, verify) + messages
//
// For concurrent devices the breakdown is that of the longer side, for which the step waits.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "decoder/priced/step_price.h"

namespace draftline {

// `host_idle`: how long the host waits for the target's device; more host work would hide it.
struct StepTiming {
  StepBreakdown step;
  Seconds host_idle;

  StepTiming& add(const StepTiming& other, double weight) {
    step.add(other.step, weight);
    host_idle += weight * other.host_idle;
    return *this;
  }
};

class PlacedStep {
 public:
  struct Drafter {
    StepPrice price;
    Seconds messages;    // for which a step waits
    bool ahead = false;  // drafts while the target verifies
  };
  PlacedStep(StepPrice all) : target_(std::move(all)) {}
  PlacedStep(StepPrice target, Drafter drafter) : target_(std::move(target)), drafter_(std::move(drafter)) {}

  Seconds operator()(double length, const PromptsBetween& between = {}) const;
  StepTiming timing(double length) const;
  Seconds drafting(double length) const;  // how long the drafter's own device works; 0: it has none
  bool apart() const { return drafter_.has_value(); }
  std::vector<Window> windows() const;
  const StepPrice& target() const { return target_; }

 private:
  StepPrice target_;
  std::optional<Drafter> drafter_;
};

}  // namespace draftline
