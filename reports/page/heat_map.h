// SPDX-License-Identifier: Apache-2.0
// A figure of a choice over two inputs: a cell for each pair of values, darker where the choice is larger, and grey
// where there is none.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace draftline {

struct HeatMap {
  struct Cell {
    std::optional<int> choice;  // none: nothing is chosen
    std::string label;          // shown when the pointer is on it; "": the cell is empty
  };
  std::string title, values;
  std::string x_title, y_title;
  std::vector<std::string> x, y;
  std::vector<Cell> cells;  // x varies fastest
};

std::string to_html(const HeatMap&);

}  // namespace draftline
