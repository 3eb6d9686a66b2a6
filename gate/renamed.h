// SPDX-License-Identifier: Apache-2.0
// Keys that older versions of the program wrote under other names, so that their outputs and pins can be compared.
#pragma once
#include <string>
#include <string_view>

namespace draftline::gate {

// The current name of a key or path: "breakdown.host" -> "breakdown.cpu", "busy_share.low" -> "utilization.low".
// Unknown names are returned unchanged.
std::string current_name(std::string_view);

}  // namespace draftline::gate
