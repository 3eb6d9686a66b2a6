// SPDX-License-Identifier: Apache-2.0
// 90 % intervals of predicted steps (docs/explanation/prediction.md, "Intervals"), from the errors of the device's fits
// on held-out shapes and from the terms of the engine's profile. All kernels of a kind are assumed to have the same
// relative error; errors of different kinds and of different terms are assumed to be independent.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/interval.h"
#include "decoder/priced/step_breakdown.h"
#include "model/devices/attention_library.h"
#include "model/kernels/operand_fits.h"
#include "predict/term_effects.h"

namespace draftline {

// 90 % intervals of measured over predicted time.
struct KnownErrors {
  EnumArray<KernelKind, std::optional<RatioInterval>, kKernelKinds> of;  // by kind of kernel; none: unknown
  std::optional<RatioInterval> plain_attention;  // for one row per sequence; `of` covers any number of rows
  RatioInterval steps{};                         // of whole steps, beyond their kernels and the engine's terms
  bool experts_as_gemm = true;                   // experts have the coefficients of GEMMs, and their error
  EnumArray<KernelKind, std::string, kKernelKinds> why{};  // why an error is unknown: "the fit is borrowed from h200"
};
// The known errors for a network served in this precision. The error of products is the widest error of the fits that
// price them, which always include that for 16 bits; it is unknown if one of these fits is a guess for its operands.
// `attention`: the step's choice; on a GPU without a choice, the device's first fit. A library that was not measured
// has the error that the device's file gives for unmeasured libraries, relative to the substitute fit.
KnownErrors known_errors(const Device&, const ChosenFits&, const AttentionChoice& attention);
inline KnownErrors known_errors(const Device& d, const Precision& p = {}, const AttentionChoice& attention = {}) {
  return known_errors(d, chosen_fits(d, p), attention);
}

struct PredictionInterval {
  RatioInterval step_time, throughput;
  RatioInterval speedup;  // the errors of the baseline are assumed to be independent
  double covers;          // share of the step time that waits for kernels with a known error, 0 to 1
};

// A step, and what the terms of the engine's profile can add to it.
struct UncertainStep {
  UncertainStep(const StepBreakdown& s, std::span<const TermEffect> e = {}) : step(s), effects(e) {}
  const StepBreakdown& step;
  std::span<const TermEffect> effects;
};

// The interval of a step; none if there is a missing_error(). `baseline`: a step of plain decoding; null if the step
// itself is plain decoding, with a speedup of exactly 1.
std::optional<PredictionInterval> prediction_interval(const KnownErrors&, const UncertainStep&,
                                                      const UncertainStep* baseline);

// Why a step has no interval: "the error of experts is unknown (the fit is borrowed from h200)". None if the errors of
// all GEMMs, attention, experts and recurrences are known for which the step or the baseline waits.
std::optional<std::string> missing_error(const KnownErrors&, const StepBreakdown&, const StepBreakdown* baseline);

}  // namespace draftline
