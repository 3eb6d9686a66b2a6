// SPDX-License-Identifier: Apache-2.0
// Statistics of the tokens that the steps of texts emit, bonus token included. Texts are the independent unit: 90 %
// intervals are percentiles of a bootstrap over texts (Efron 1979; Cameron, Gelbach and Miller 2008 for clusters).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"
#include "trace/trace.h"

namespace draftline {

inline constexpr int kLags = 8;

struct BootstrapEstimate {
  double value = 0;
  std::optional<Interval> interval;  // none: of fewer than two texts
};

struct StepStatistics {
  struct Position {                              // of a draft on the longest path, from the first
    std::optional<BootstrapEstimate> of_all;     // share of all steps that accept it
    std::optional<BootstrapEstimate> of_before;  // share of the steps that accept the draft before; none: no step does
  };
  int texts = 0;  // with a step
  std::int64_t steps = 0;
  BootstrapEstimate tokens_per_step;  // a mean over all steps
  std::vector<Position> positions;
  // [lag - 1]: correlation of two steps of a text that are `lag` apart, about the mean of all steps, 0 if steps are
  // independent and texts alike; none: no such steps, or all steps are equal.
  std::vector<std::optional<BootstrapEstimate>> autocorrelation;
  // Analysis of variance with one factor, the text (Donner 1986): between texts, within them, and the share of the
  // first, which may be below 0 by chance. None: of fewer than two texts, or if all steps are equal.
  std::optional<BootstrapEstimate> variance_between, variance_within, intraclass_correlation;
};

// `steps`: of each text; `most_accepted`: the longest path in drafts. At least one step.
StepStatistics step_statistics(std::span<const std::vector<int>> steps, int most_accepted, std::uint64_t seed);

// The drafts of which a trace can give statistics: the recorded ones or, of ranks alone, the longest chain.
DraftPlan own_plan(const Trace&);
int most_accepted(const Trace&);
std::vector<std::vector<int>> steps_of(const Trace&);

}  // namespace draftline
