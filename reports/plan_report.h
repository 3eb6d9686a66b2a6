// SPDX-License-Identifier: Apache-2.0
// What `draftline plan` prints: the recommendation first, then every option by cost, and why each loser lost.
#pragma once
#include <ostream>
#include <vector>

#include "sim/capacity.h"

namespace draftline {

enum class PlanFormat { table, csv, json };
// `options`: those that were looked at; fewer than the scenario's points if interrupted.
void write_plan(std::ostream&, PlanFormat, const Scenario&, std::vector<FleetOption> options, std::size_t width);

}  // namespace draftline
