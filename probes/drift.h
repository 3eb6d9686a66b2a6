// SPDX-License-Identifier: Apache-2.0
// Drift: how much faster or slower a shared machine has become since it was probed, from a few of the probed GEMMs
// timed again.
#pragma once
#include <vector>

#include "probes/cpu_probe.h"

namespace draftline {

// One row for each place of the weights: "L2", "LLC" and "memory". Each point is timed within about `time_budget`. A
// place from which no GEMM was probed has no row.
std::vector<Drift> drift_since(const Measured&, Seconds time_budget, ClockReference&);

}  // namespace draftline
