// SPDX-License-Identifier: Apache-2.0
// What a scenario's workload can't be simulated with, and what it lacks.
#pragma once
#include "predict/sweep.h"

namespace draftline {

// Notes mistakes at their places in the scenario, which must have a workload. Builds every method once.
void check_serving(Sweep&);

}  // namespace draftline
