// SPDX-License-Identifier: Apache-2.0
// The output of `draftline plan`: the recommendation, then every option by cost with the reason why it is not
// recommended.
#pragma once
#include <string>
#include <vector>

#include "reports/output.h"
#include "sim/capacity.h"

namespace draftline {

// Writes the whole report in the given format. `options`: of the points so far; fewer than the scenario's if
// interrupted. Throws OutputError for JSON (core/json_writer).
void write_plan(const Output&, const Scenario&, std::vector<FleetOption> options);

// The recommendation for each workload, a sentence.
std::vector<std::string> plan_verdicts(const Scenario&, std::vector<FleetOption> options);

}  // namespace draftline
