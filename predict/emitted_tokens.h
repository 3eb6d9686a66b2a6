// SPDX-License-Identifier: Apache-2.0
// The tokens that a method's steps emit over an output, computed from its acceptance.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "core/mistake.h"
#include "inputs/scenario.h"
#include "predict/mean_contexts.h"

namespace draftline {

class EmittedTokens {
 public:
  EmittedTokens(const MethodChoice& m, const Method& built) : choice_(m), method_(built) {}

  // An output: `rows` are verified per sequence and step.
  struct Output {
    int rows, prompt_tokens, output_tokens;
  };
  // The mean acceptance length over the output, or why the acceptance does not fit the method.
  std::variant<double, Mistake> mean_length(const Output&) const;
  // What of its acceptance is beyond the measured, as mean_length() notes at the scenario's key, if there is one.
  std::optional<std::string> extrapolated(const Output&) const;
  // The contexts of the steps over the output. Steps are denser where fewer tokens are accepted.
  MeanContexts contexts(const Output&, std::span<const Window>) const;
  // The mean number of decode steps of a request with this mean acceptance length.
  double decode_steps(const Output&, double mean_length);

 private:
  BuiltMethod built(const Output& o) const { return {choice_.spec, method_, o.rows}; }
  std::variant<double, Mistake> at_context(const Output&, double context) const;
  LengthDistribution lengths(const Output&) const;

  const MethodChoice& choice_;
  const Method& method_;
  std::map<std::pair<int, int>, double> steps_;      // by rows and tokens
  std::map<int, LengthDistribution> distributions_;  // by rows
};

}  // namespace draftline
