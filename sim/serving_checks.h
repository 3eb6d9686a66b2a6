// SPDX-License-Identifier: Apache-2.0
// Checks that a scenario's workload is complete and can be simulated.
#pragma once
#include <optional>
#include <string>

#include "predict/sweep.h"

namespace draftline {

// Notes mistakes at their places in the scenario, which must have a workload: prices that lack a device, and
// combinations of values if no point's can be simulated. Builds methods.
void check_serving(Sweep&);

// Why a point's combination of values can't be simulated; none: it can.
std::optional<std::string> refuses_serving(Sweep&, const Point&);

}  // namespace draftline
