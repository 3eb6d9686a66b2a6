// SPDX-License-Identifier: Apache-2.0
// How sure a verdict of `advise` is: the batches at which it is too close to say whether speculation pays, the figure
// that decides, and the measurement that would settle it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/advice.h"

namespace draftline {

std::string_view name_of(Payoff);  // "pays", "does not pay", "too close to say"

// The 90 % interval of the requests' speedup; none if it is unknown.
std::optional<Interval> request_interval(const BatchAdvice&);

// The batch at which a measurement would settle whether it pays: that at the scenario's load, or without a load the
// first at which it is too close to say. Null: there is none.
const BatchAdvice* undecided(const Advice&);

// "the 90 % interval of the request speedup is 0.91x to 1.32x; a step needs 1.71 tokens to break even, and this
// acceptance yields 1.88"
std::string deciding_figure(const BatchAdvice&);

// Sentences on the batches at which it is too close to say, and on the figure that decides; none if it surely pays, or
// surely does not, at all of them.
std::vector<std::string> certainty_sentences(const Advice&);

// The command that measures what decides; `acceptance`: whether the acceptance is an assumption.
std::string settling_command(const Scenario&, const Advice&, const BatchAdvice&, bool acceptance);

}  // namespace draftline
