// SPDX-License-Identifier: Apache-2.0
// Strict JSON (RFC 8259), optionally with a byte order mark and comments. Duplicate keys, nesting deeper than 64, text
// after the value, ill-formed UTF-8, NUL bytes and numbers beyond the range of a double are errors.
#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_dialect.h"
#include "core/printable.h"

namespace draftline {

inline constexpr std::size_t kDeepestJson = 64;

struct ParsedJson {
  nlohmann::json root;
  // The keys of every object in the order of the file. Objects are numbered in the order in which they open, from 0.
  std::vector<std::vector<std::string>> keys;
  std::string error;          // the first error, "line 3, column 5: ..."; "" if there is none
  std::string error_pointer;  // JSON pointer to the value with the error
};

ParsedJson parse_json(std::string_view text, JsonDialect = JsonDialect::strict);  // an error is in the result

// A key as a step of a JSON pointer, with "~" and "/" escaped (RFC 6901).
std::string pointer_step(std::string_view key);

}  // namespace draftline
