// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: "3.35 TB/s", "500 ms", "80 GiB", "312 TFLOP/s", "6 /s". Decimal prefixes k M G T P
// are powers of 1000, Ki Mi Gi Ti Pi powers of 1024, m u n stand before s alone. "FLOPS" is refused: FLOP is a count,
// FLOP/s a rate. Independent of the locale.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/quantity.h"

namespace draftline {

struct Dimension {
  int second = 0, byte = 0, flop = 0;
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

// The value in base units (always finite), or what is wrong with the text (`unknown unit "MBs"; did you mean "MB/s"?`).
std::variant<double, std::string> parse_quantity(std::string_view text, Dimension);

// How such a quantity may be written, for messages: "10 ms"; "" for a dimension nobody writes.
std::string_view example_of(Dimension);

// For people: three significant digits and the prefix that suits, "1.23 ms", "79.6 GiB". Zero is "0 s".
std::string to_text(Seconds);         // ns to h
std::string to_text(PerSecond);       // k/s and the like
std::string to_text(Bytes);           // GiB and the like
std::string to_text(Flops);           // TFLOP and the like
std::string to_text(BytesPerSecond);  // GB/s and the like
std::string to_text(FlopsPerSecond);  // TFLOP/s and the like
std::string to_text(FlopsPerByte);    // never a prefix

// A number with that many significant digits and no exponent between 1e-4 and 1e15: 1234.5 -> "1230", 0.05 -> "0.0500".
std::string significant(double value, int digits = 3);

// The base unit as the JSON output names it: "s", "B", "FLOP", "B/s", "FLOP/s", "FLOP/B", "1/s", "".
std::string_view unit_name(Dimension);

}  // namespace draftline
