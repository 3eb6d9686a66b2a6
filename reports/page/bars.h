// SPDX-License-Identifier: Apache-2.0
// A figure of totals that consist of parts: a bar for each row, stacked from its parts.
#pragma once
#include <string>
#include <vector>

#include "reports/page/chart.h"

namespace draftline {

struct Bars {
  struct Row {
    std::string name;
    std::vector<double> parts;  // one for each name in `parts`, none negative
  };
  std::string title, values;              // what the values are: "one step"
  std::string (*text)(double) = nullptr;  // of a value
  std::vector<std::string> parts;
  std::vector<Row> rows;
};

std::string to_html(const Bars&, SeriesStyles& of_page);  // "" without rows

}  // namespace draftline
