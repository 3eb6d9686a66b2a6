// SPDX-License-Identifier: Apache-2.0
// How much faster or slower a shared machine has become since it was probed: a few of the probed products, timed again.
#pragma once
#include <vector>

#include "probes/cpu_probe.h"

namespace draftline {

// By where their weights lie: "second cache", "last cache", "memory". Each point for about `time_budget`. Where nothing alike was probed there is no row.
std::vector<Drift> drift_since(const Measured&, Seconds time_budget, ClockReference&);

}  // namespace draftline
