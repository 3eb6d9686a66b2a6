// SPDX-License-Identifier: Apache-2.0
// Cells of tables of measured times. A cell that is no count, or no time that can be calculated with, throws
// InputErrors with the row's file and line.
#pragma once
#include <cstdint>

#include "core/csv.h"
#include "core/quantity.h"

namespace draftline {

inline constexpr int kMostCount = 1 << 30;

int count(const Csv&, std::size_t row, std::size_t column, int least = 0, int most = kMostCount);
// A number that follows from counts of a row, such as the rows of all its sequences: at most kMostCount.
int total(const Csv&, std::size_t row, std::int64_t of_counts);
Seconds latency(const Csv&, std::size_t row, std::size_t column, Seconds unit);  // above 0

}  // namespace draftline
