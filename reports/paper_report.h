// SPDX-License-Identifier: Apache-2.0
// What `draftline papers` prints: the errors of each column first, then each table beside ours with its notes.
#pragma once
#include <string>

#include "core/json_writer.h"
#include "papers/paper_table.h"

namespace draftline {

void write_json(JsonWriter&, const Paper&);  // {paper, tables: [...]}: one element of "papers"
enum class PaperStyle { terminal, markdown };
// The summary of errors first, then each table with its notes.
std::string to_text(const Paper&, PaperStyle = PaperStyle::terminal, std::size_t width = 0);

}  // namespace draftline
