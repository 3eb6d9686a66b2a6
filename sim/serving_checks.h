// SPDX-License-Identifier: Apache-2.0
// Checks that a scenario's workload is complete and can be simulated.
#pragma once
#include "predict/sweep.h"

namespace draftline {

// Notes mistakes at their places in the scenario, which must have a workload. Builds every method once.
void check_serving(Sweep&);

}  // namespace draftline
