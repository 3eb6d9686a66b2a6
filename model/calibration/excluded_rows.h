// SPDX-License-Identifier: Apache-2.0
// The rows of a table of kernels: used by a fit, or excluded with a reason.
#pragma once
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace draftline {

// Reasons in the order of their first row, with the number of rows of each.
class ExcludedRows {
 public:
  void add(std::string_view why, int rows = 1) {
    if (rows == 0) return;
    const auto known = std::find_if(all_.begin(), all_.end(), [&](const auto& r) { return r.first == why; });
    if (known == all_.end()) all_.emplace_back(why, rows);
    else known->second += rows;
  }
  void add(const ExcludedRows& other) {
    for (const auto& [why, rows] : other.all_) add(why, rows);
  }
  const std::vector<std::pair<std::string, int>>& reasons() const { return all_; }
  int rows() const {
    return std::accumulate(all_.begin(), all_.end(), 0, [](int sum, const auto& r) { return sum + r.second; });
  }

 private:
  std::vector<std::pair<std::string, int>> all_;
};

struct TableRows {
  std::string table;  // the file's name
  int rows = 0;       // without the header; those that are not excluded are used
  ExcludedRows excluded = {};
  std::string unread = {};  // why it is not used, of a table whose rows can't be counted
  int used() const { return rows - excluded.rows(); }
};

}  // namespace draftline
