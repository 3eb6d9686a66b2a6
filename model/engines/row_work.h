// SPDX-License-Identifier: Apache-2.0
// The arithmetic of kernels that multiply row by row: for each weight, by the rows of a product, in operations at the
// device's fp32 rate. Tiles of rows make it uneven, so that it is a table.
#pragma once
#include <vector>

namespace draftline {

struct RowWork {
  int rows = 1;
  double work = 0;
  bool operator==(const RowWork&) const = default;
};

// Between two entries on a straight line, below the first and beyond the last in proportion to the rows. The entries
// are in the order of their rows; there is at least one.
inline double work_of_rows(const std::vector<RowWork>& table, int rows) {
  const RowWork* before = nullptr;
  for (const RowWork& entry : table) {
    if (rows <= entry.rows) {
      if (before == nullptr) return entry.work * rows / entry.rows;
      return before->work + (entry.work - before->work) * (rows - before->rows) / (entry.rows - before->rows);
    }
    before = &entry;
  }
  return before->work * rows / before->rows;
}

}  // namespace draftline
