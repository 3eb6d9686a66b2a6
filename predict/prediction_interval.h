// SPDX-License-Identifier: Apache-2.0
// How far a step's prediction may be off, from what its device's fits know of their errors (docs/prediction.md,
// "Intervals"): kernels of one kind err by one common factor, kinds independently; hosts, and fits without an interval,
// add nothing.
#pragma once
#include <array>
#include <optional>

#include "core/json_writer.h"
#include "decoder/priced/step_breakdown.h"
#include "model/device.h"

namespace draftline {

// 90 % of measured times over predicted.
struct KnownErrors {
  std::array<std::optional<Interval>, kKernelKinds> of;  // by kind of kernel; none: not known, or a relative's
  bool experts_as_gemm = true;                           // experts have the coefficients of GEMMs, and err with them
};
KnownErrors known_errors(const Device&);

struct PredictionInterval {
  Interval step_time;   // seconds
  Interval throughput;  // as ratios to the predicted one
  Interval speedup;     // ... against `baseline`, whose errors are taken as independent of this step's
  double covers;        // share of the step that waits for kernels whose error is known
};

// None where the error of a GEMM, an attention or experts that either step waits for is not known. No baseline: it is the
// baseline.
std::optional<PredictionInterval> prediction_interval(const KnownErrors&, const StepBreakdown&,
                                                      const StepBreakdown* baseline);

}  // namespace draftline
