// SPDX-License-Identifier: Apache-2.0
// 90 % intervals of predicted steps, from the errors of the device's fits on held-out shapes
// (docs/explanation/prediction.md, "Intervals"). All kernels of a kind are assumed to have the same relative error, and
// kinds to be independent. Host time and kinds without a known error are assumed to be exact.
#pragma once
#include <optional>

#include "core/interval.h"
#include "decoder/priced/step_breakdown.h"
#include "model/devices/attention_library.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

// 90 % intervals of measured over predicted time.
struct KnownErrors {
  EnumArray<KernelKind, std::optional<RatioInterval>, kKernelKinds>
      of;                                        // by kind of kernel; none: unknown, or the fit is borrowed
  std::optional<RatioInterval> plain_attention;  // of one row a sequence; `of` is of any number of rows
  bool experts_as_gemm = true;                   // experts have the coefficients of GEMMs, and their error
};
// The known errors for a network served in this precision. Products have the widest error of the fits that price them,
// 16 bits among them, and none where one of these fits is a guess for its operands. `attention`: the choice with which
// the step runs; if a GPU's is not chosen, the device's first fit. A library that was not measured has the error that
// the device's file gives for others, about the fit that stands in for it.
KnownErrors known_errors(const Device&, const ChosenFits&, const AttentionChoice& attention);
inline KnownErrors known_errors(const Device& d, const Precision& p = {}, const AttentionChoice& attention = {}) {
  return known_errors(d, chosen_fits(d, p), attention);
}

struct PredictionInterval {
  RatioInterval step_time, throughput;
  RatioInterval speedup;  // the errors of the baseline are assumed to be independent
  double covers;          // share of the step time that waits for kernels with a known error, 0 to 1
};

// The interval of a step; none if GEMMs, attention or experts that either step waits for have an unknown error.
// `baseline`: a step of plain decoding; null if `step` is one, whose speedup then is exactly 1.
std::optional<PredictionInterval> prediction_interval(const KnownErrors&, const StepBreakdown&,
                                                      const StepBreakdown* baseline);

}  // namespace draftline
