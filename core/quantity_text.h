// SPDX-License-Identifier: Apache-2.0
// Quantities as text: "3.35 TB/s", "500 ms", "80 GiB", "312 TFLOP/s", "6 /s". The prefixes k M G T P are powers of 1000
// and Ki Mi Gi Ti Pi powers of 1024; m u n are accepted only before s. "FLOPS" is an error: FLOP is a count, FLOP/s a
// rate. Nothing depends on the locale.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/quantity.h"

namespace draftline {

struct Dimension {
  int second = 0, byte = 0, flop = 0;  // exponents
  bool operator==(const Dimension&) const = default;
};

template <int S, int B, int F>
constexpr Dimension dimension_of(Quantity<S, B, F>) {
  return {S, B, F};
}
template <class Q>
constexpr Dimension unit_dimension() {
  return dimension_of(Q{});
}

// The value in base units (always finite), or the error in the text (`unknown unit "MBs"; did you mean "MB/s"?`).
std::variant<double, std::string> parse_quantity(std::string_view text, Dimension);

// An example of such a quantity for messages, "10 ms"; "" for a dimension that has no unit in parse_quantity().
std::string_view example_of(Dimension);

std::vector<std::string_view> unit_names(Dimension);  // the units in which such a quantity is written

// Text for people, with three significant digits and a suitable prefix: "1.23 ms", "79.6 GiB". Zero is "0 s".
std::string to_text(Seconds);         // ns to h
std::string to_text(PerSecond);       // such as k/s
std::string to_text(Bytes);           // such as GiB
std::string to_text(Flops);           // such as TFLOP
std::string to_text(BytesPerSecond);  // such as GB/s
std::string to_text(FlopsPerSecond);  // such as TFLOP/s
std::string to_text(FlopsPerByte);    // without a prefix

// A number with that many significant digits and no exponent between 1e-4 and 1e15: 1234.5 -> "1230", 0.05 -> "0.0500".
std::string significant(double value, int digits = 3);

// The base unit as the JSON output names it: "s", "B", "FLOP", "B/s", "FLOP/s", "FLOP/B", "1/s", "".
std::string_view unit_name(Dimension);

}  // namespace draftline
