// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/table_cells.h"

namespace draftline {

int count(const Csv& t, std::size_t row, std::size_t column, int least, int most) {
  const std::int64_t value = t.integer(row, column);
  if (value < least || value > most) t.fail(row, "a count out of range");
  return static_cast<int>(value);
}

int total(const Csv& t, std::size_t row, std::int64_t of_counts) {
  if (of_counts > kMostCount) t.fail(row, "counts whose product is out of range");
  return static_cast<int>(of_counts);
}

Seconds latency(const Csv& t, std::size_t row, std::size_t column, Seconds unit) {
  constexpr Seconds kNone{1e-15};  // a ratio to even less may be no number
  const Seconds time = t.number(row, column) * unit;
  if (time < kNone) t.fail(row, "a latency must be above 0");
  return time;
}

}  // namespace draftline
