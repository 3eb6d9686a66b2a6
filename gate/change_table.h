// SPDX-License-Identifier: Apache-2.0
// Changes as tables for people: one row for each figure of a pin, with the largest of its changes and where that is.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gate/gate.h"
#include "reports/table.h"

namespace draftline::gate {

struct ChangeRow {
  const Checked* pin;
  const Change* largest;
  std::size_t points = 0;  // of the pin that changed so
};

struct ChangeRows {
  std::vector<ChangeRow> sized;  // numbers, largest first
  std::vector<ChangeRow>
      others;  // points and figures that are lost or new, then texts that changed; event streams last
};
ChangeRows rows_of(const std::vector<Checked>& pins);

// The tolerance that all of these rows have; none if they differ.
std::optional<double> one_tolerance(const std::vector<ChangeRow>&);

// Each cause once, with the number of pins that it stands behind; rows refer to it by its number.
struct Cause {
  std::string text;
  std::vector<const Checked*> pins;
};
std::vector<Cause> causes_of(const std::vector<Checked>& pins);

// `safe`: what a page's markup needs done to texts. At most `most` rows.
using Safe = std::function<std::string(const std::string&)>;
Table sized_table(const std::vector<ChangeRow>&, const std::vector<Cause>&, std::size_t most, const Safe& safe);
Table others_table(const std::vector<ChangeRow>&, const std::vector<Cause>&, std::size_t most, const Safe& safe);

std::string change_text(const Change&);                            // "+38.9 %", "lost"
std::string counted(std::size_t n, const std::string& one);        // "3 pins"
std::string shortened(const std::string& text, std::size_t most);  // whole characters, with "..." for the rest

}  // namespace draftline::gate
