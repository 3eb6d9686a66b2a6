// SPDX-License-Identifier: Apache-2.0
// Changes as readable tables: a row for each figure of a pin, with its largest change and the point of this change.
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
  std::size_t points = 0;  // points of the pin at which the figure changed
};

struct ChangeRows {
  std::vector<ChangeRow> sized;  // changed numbers, largest change first
  // Lost and new points and figures, then changed texts, then event streams.
  std::vector<ChangeRow> others;
};
ChangeRows rows_of(const std::vector<Checked>& pins);  // the rows point into `pins`

// The tolerance of all rows; none if tolerances differ.
std::optional<double> one_tolerance(const std::vector<ChangeRow>&);

// A cause of changes, and the pins that it may have affected. Tables refer to causes by their index, from 1.
struct Cause {
  std::string text;
  std::vector<const Checked*> pins;
};
std::vector<Cause> causes_of(const std::vector<Checked>& pins);  // each cause once

// Tables of at most `most` rows. `safe` escapes texts for the page's markup.
using Safe = std::function<std::string(const std::string&)>;
Table sized_table(const std::vector<ChangeRow>&, const std::vector<Cause>&, std::size_t most, const Safe& safe);
Table others_table(const std::vector<ChangeRow>&, const std::vector<Cause>&, std::size_t most, const Safe& safe);

std::string change_text(const Change&);                      // "+38.9 %", "lost"
std::string counted(std::size_t n, const std::string& one);  // "3 pins", for `one` = "pin"
// The text if it has at most `most` bytes; otherwise its beginning, without cutting a UTF-8 character, and "...".
std::string shortened(const std::string& text, std::size_t most);

}  // namespace draftline::gate
