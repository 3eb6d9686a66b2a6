// SPDX-License-Identifier: Apache-2.0
// The figures of `run` (docs/reference/output.md): throughput and speedup, the time of a step and its breakdown.
#pragma once
#include "predict/sweep.h"
#include "reports/figure.h"

namespace draftline {

// The 90 % interval of the speedup; none if the errors of the device's fits are unknown.
std::optional<Interval> speedup_interval(const Prediction&);

const Figures<Outcome>& run_figures();
const Figures<KernelTime>& kernel_figures();  // of each kernel of a step (run --explain)

}  // namespace draftline
