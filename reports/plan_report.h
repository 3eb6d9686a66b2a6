// SPDX-License-Identifier: Apache-2.0
// What `draftline plan` prints: the recommendation first, then every option by cost, and why each loser lost.
#pragma once
#include <vector>

#include "reports/output.h"
#include "sim/capacity.h"

namespace draftline {

// `options`: those that were looked at; fewer than the scenario's points if interrupted.
void write_plan(const Output&, const Scenario&, std::vector<FleetOption> options);

}  // namespace draftline
