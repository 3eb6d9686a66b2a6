// SPDX-License-Identifier: Apache-2.0
// Lengths of prompts and outputs in tokens: fixed, drawn from a distribution, or recorded
// (docs/explanation/simulator.md).
#pragma once
#include <variant>

#include "core/reader.h"
#include "core/rng.h"
#include "inputs/workload_trace.h"

namespace draftline {

struct ScenarioLength {  // the scenario's prompt_tokens or output_tokens
  bool operator==(const ScenarioLength&) const = default;
};
struct FixedLength {
  int tokens;
  bool operator==(const FixedLength&) const = default;
};
struct UniformLength {
  int least, most;  // both included
  bool operator==(const UniformLength&) const = default;
};
struct ExponentialLength {
  double mean;
  bool operator==(const ExponentialLength&) const = default;
};
struct GammaLength {
  double mean, deviation;
  bool operator==(const GammaLength&) const = default;
};
struct LognormalLength {
  double log_mean, log_deviation;  // of the logarithm
  bool operator==(const LognormalLength&) const = default;
};
struct RecordedLength {  // from a trace
  bool operator==(const RecordedLength&) const = default;
};
using Lengths = std::variant<ScenarioLength, FixedLength, UniformLength, ExponentialLength, GammaLength,
                             LognormalLength, RecordedLength>;

constexpr int kLongestText = 1 << 24;  // tokens of a prompt or an output

bool is_drawn(const Lengths&);     // from a distribution
bool is_recorded(const Lengths&);  // looked up in a trace
// The next length, 1 to kLongestText tokens. Throws Bug for ScenarioLength and RecordedLength, which are looked up.
int draw_length(const Lengths&, Rng&);
double mean_length(const Lengths&);  // tokens; 0 for those that are looked up

// A number of tokens or a distribution. A distribution without moments uses those of a column of `trace`, if given.
// Mistakes are noted at the reader.
Lengths read_lengths(const Reader&, const WorkloadTrace* trace, int RecordedRequest::*column);

// The variate with a mean of shape x scale.
double gamma_variate(Rng&, double shape, double scale);

}  // namespace draftline
