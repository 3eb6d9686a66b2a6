// SPDX-License-Identifier: Apache-2.0
// The documentation of figures, generated from the lists from which tables, CSV and JSON are written.
#pragma once
#include <string>
#include <vector>

#include "reports/table.h"

namespace draftline {

struct FigureList {
  std::string name;  // "run", "advise, each batch"
  struct Row {
    std::string title, csv, json, unit, kind, meaning;  // json: path in the result's object; "" where there is none
  };
  std::vector<Row> rows;
};

std::vector<FigureList> documented_figures();  // of all verbs with figures
std::string markdown(const FigureList&);       // the table in docs/reference/output.md

}  // namespace draftline
