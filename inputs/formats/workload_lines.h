// SPDX-License-Identifier: Apache-2.0
// Requests recorded in JSON lines, one a line: one row for each kind of line.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace draftline {

struct RequestLine {
  std::optional<double> arrival;  // seconds; none: the file has no arrivals
  std::int64_t prompt = 0, output = 0;
};

// Notes a mistake of the line and throws.
using FailLine = std::function<void(const std::string&)>;

struct LineFormat {
  std::string_view key, title;                                                 // the key by which such a line is known
  std::optional<RequestLine> (*read)(const nlohmann::json&, const FailLine&);  // none: the request failed
  bool by_end = false;         // lines are in the order in which requests ended
  std::string_view note = {};  // for users
};
std::span<const LineFormat> workload_lines();

// Tokens of a text, estimated from its bytes: a tokenizer is not at hand.
std::int64_t estimated_tokens(std::string_view text);
extern const std::string_view kEstimateNote;

}  // namespace draftline
