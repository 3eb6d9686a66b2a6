// SPDX-License-Identifier: Apache-2.0
// The figures of `plan` (docs/reference/output.md): a fleet that meets the targets, or the reason why there is none.
#pragma once
#include <string>

#include "reports/figure.h"
#include "reports/simulate_figures.h"
#include "sim/capacity.h"

namespace draftline {

struct PlannedFleet {
  const FleetOption& option;
  bool best;        // the recommended one
  bool pareto;      // not dominated() by another option (sim/capacity)
  int recommended;  // replications that alone would recommend it
  std::string why;  // why it is recommended or not
  bool meets_targets() const { return !option.obstacle; }
};

// `priced`: whether the scenario has prices; otherwise the cost is the number of devices. `targets`: the scenario's.
Figures<PlannedFleet> plan_figures(bool priced = true, const LatencyTargets& targets = {});

}  // namespace draftline
