// SPDX-License-Identifier: Apache-2.0
// What steps emit when acceptance is forced (`decode --accept`, `--accept-trace`): all is drafted and verified, the decision
// comes from rates or from a trace.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decoder/method.h"
#include "methods/method_spec.h"

namespace draftline::measure {

using ForcedAcceptance = std::function<int(int id, int step)>;  // tokens emitted, the bonus included

// A rate for each draft in turn.
ForcedAcceptance accept_by_rates(const std::vector<double>& rates, const Method&, std::uint64_t seed);
// A trace of lengths serves the very method that it was recorded of.
ForcedAcceptance accept_by_trace(const std::string& file, const Method&, const MethodSpec&);

}  // namespace draftline::measure
