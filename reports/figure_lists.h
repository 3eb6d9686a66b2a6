// SPDX-License-Identifier: Apache-2.0
// All figures of all verbs: their documentation, and what `check` must know of them, both from the lists from which
// tables, CSV and JSON are written.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "reports/table.h"

namespace draftline {

struct FigureList {
  std::string name;    // "run", "advise, each batch"
  std::string verb;    // that answers with them; "" for the inputs of several verbs
  std::string list;    // of JSON whose elements have them: "batches"; "" for the results
  bool whole = false;  // pins hold all of the verb's answer, its sentences and settings included
  struct Row {
    std::string title, csv, json, unit, kind, meaning;  // json: path in the result's object; "" where there is none
    bool pinned, identifies;
    std::string was;  // path of an older version; "" if none
  };
  std::vector<Row> rows = {};
};

std::vector<FigureList> documented_figures();  // of all verbs with figures
std::string markdown(const FigureList&);       // the table in docs/reference/output.md

// The figures of a verb that pins hold unless they name their own, with dots: "ttft.p99"; {"all"} for the whole answer.
std::vector<std::string> pinned_figures(const std::string& verb);

// The lists of objects in answers and measured files whose elements several members tell apart, or another one than
// "name", with these members.
std::vector<std::pair<std::string, std::vector<std::string>>> identifying_members();

// Figures that older versions wrote under other names, with dots: their names then, and now.
std::vector<std::pair<std::string, std::string>> renamed_figures();

}  // namespace draftline
