// SPDX-License-Identifier: Apache-2.0
// Keys that older versions wrote under other names, so that their outputs and pins are still joined with today's.
#pragma once
#include <string>
#include <string_view>

namespace draftline::gate {

// A key or a path as it is called now: "breakdown.host" -> "breakdown.cpu", "busy_share.low" -> "utilization.low".
std::string current_name(std::string_view);

}  // namespace draftline::gate
