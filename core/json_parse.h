// SPDX-License-Identifier: Apache-2.0
// Text to JSON tree, strictly: RFC 8259 plus a byte order mark, and nothing that hides a mistake. Refuses duplicate
// keys, nesting deeper than 64, text after the value, ill-formed UTF-8, NUL bytes and numbers beyond a double.
#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

inline constexpr std::size_t kDeepestJson = 64;

struct ParsedJson {
  nlohmann::json root;
  // The keys of every object in the order of the file. Objects are numbered in the order in which they open, from 0.
  std::vector<std::vector<std::string>> keys;
  std::string error;          // "" if all is well, else what is wrong: "line 3, column 5: ..."
  std::string error_pointer;  // JSON pointer to the value that was being read
};

ParsedJson parse_json(std::string_view text);

// One step of a JSON pointer, "~" and "/" escaped (RFC 6901).
std::string pointer_step(std::string_view key);

// Fit for a message on a terminal: control characters as \u00XX, ill-formed UTF-8 as U+FFFD, at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 200);

}  // namespace draftline
