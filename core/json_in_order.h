// SPDX-License-Identifier: Apache-2.0
// JSON with its members in the order of the text, for files that are changed and written again.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace draftline {

// The value of a text that parse_json() (core/json_parse.h) accepts. Comments are left out.
nlohmann::ordered_json json_in_order(std::string_view text);

}  // namespace draftline
