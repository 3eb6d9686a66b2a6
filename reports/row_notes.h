// SPDX-License-Identifier: Apache-2.0
// Warnings and missing intervals of the rows of a table: each row has the letters of its notes, and each note is a line
// below the table. So rows that are compared show which of them are less certain.
#pragma once
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "predict/prediction.h"

namespace draftline {

class RowNotes {
 public:
  std::string mark(const Caveats&);  // "a, c"; "" without any
  // "warning: (a) experts in these formats were not measured ..": one line for each note, in the order of letters.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::string> texts_;
};

// The same without letters, where there is one row.
std::vector<std::string> lines_of(const Caveats&);

std::string text_of(const Caveats&);  // all of them in one line, for CSV

// The members "warnings" and "no_interval" of an open object; none where there is nothing to say.
void write_caveats(JsonWriter&, const Caveats&);

}  // namespace draftline
