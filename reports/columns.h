// SPDX-License-Identifier: Apache-2.0
// The documentation of figures, by the lists that tables, CSV and JSON are written from.
#pragma once
#include <string>
#include <vector>

#include "reports/table.h"

namespace draftline {

struct FigureList {
  std::string name;  // "run", "advise, each batch"
  struct Row {
    std::string title, csv, json, unit, kind, meaning;  // json: the path in a result's object
  };
  std::vector<Row> rows;
};

std::vector<FigureList> documented_figures();
std::string markdown(const FigureList&);  // a table of docs/output.md

}  // namespace draftline
