// SPDX-License-Identifier: Apache-2.0
// Forced acceptance (`decode --accept`, `--accept-trace`): steps draft and verify as usual, but rates or a trace decide
// how many tokens they emit.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decoder/method.h"
#include "methods/method_spec.h"
#include "trace/trace.h"

namespace draftline::measure {

// Returns the tokens, bonus token included, that a step of a sequence emits.
using ForcedAcceptance = std::function<int(int id, int step)>;

// Draft i is accepted with probability rates[i] if all earlier drafts are. Throws InputErrors if rates are missing or
// are not probabilities.
ForcedAcceptance accept_by_rates(const std::vector<double>& rates, const Method&, std::uint64_t seed);
// A trace of lengths can be replayed only for the method with which it was recorded. Throws InputErrors.
ForcedAcceptance accept_by_trace(const Trace&, const std::string& file, const Method&, const MethodSpec&);

}  // namespace draftline::measure
