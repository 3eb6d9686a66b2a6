// SPDX-License-Identifier: Apache-2.0
// New names of keys from older versions of the program, so that older outputs and pins can be compared.
#pragma once
#include <string>
#include <string_view>

namespace draftline::gate {

// The current name of a key or path: "breakdown.host" -> "breakdown.cpu", "busy_share.low" -> "utilization.low".
// Unknown names are returned unchanged.
std::string current_name(std::string_view);

}  // namespace draftline::gate
