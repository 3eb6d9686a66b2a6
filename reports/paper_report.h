// SPDX-License-Identifier: Apache-2.0
// The output of `draftline papers`: the errors of each column, with a fitted cost in both readings, then each printed
// table with our predictions and notes; in HTML also each column's predictions over the printed figures.
#pragma once
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "papers/paper_table.h"
#include "reports/output.h"

namespace draftline {

void write_papers(const Output&, const std::vector<Paper>&);
void write_json(JsonWriter&, const Paper&);     // {paper, tables: [...]}, an element of "papers"
std::string to_csv(const std::vector<Paper>&);  // a row per cell; shares and errors are ratios

}  // namespace draftline
