// SPDX-License-Identifier: Apache-2.0
// The output of `draftline papers`: the errors of each column, with a fitted cost in both readings, then each printed
// table with our predictions and notes.
#pragma once
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "papers/paper_table.h"

namespace draftline {

void write_json(JsonWriter&, const Paper&);  // {paper, tables: [...]}, an element of "papers"
enum class PaperStyle { terminal, markdown };
// `width`: of the terminal in columns; 0: no limit.
std::string to_csv(const std::vector<Paper>&);  // a row per cell; shares and errors are ratios
std::string to_text(const Paper&, PaperStyle = PaperStyle::terminal, std::size_t width = 0);

}  // namespace draftline
