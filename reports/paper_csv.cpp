// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reports/paper_report.h"
#include "reports/table.h"

namespace draftline {

namespace {

Cell number(const std::optional<double>& v) { return v ? Cell(*v) : Cell(); }
Cell text(const std::optional<std::string>& t) { return t ? Cell(*t) : Cell(); }

}  // namespace

std::string to_csv(const std::vector<Paper>& papers) {
  std::vector<std::string> keys;  // of the rows of all tables, in the order of their first use
  for (const Paper& p : papers)
    for (const PaperTable& t : p.tables)
      for (const PaperCell& c : t.cells)
        for (const auto& [key, value] : c.row)
          if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  std::vector<Table::Column> columns{"paper", "table"};
  columns.insert(columns.end(), keys.begin(), keys.end());
  for (const char* name : {"column", "printed", "kind", "ours", "error", "fitted_kind", "fitted", "fitted_error",
                           "peak_share", "excluded", "note"})
    columns.emplace_back(name);
  Table table(columns);
  for (const Paper& p : papers)
    for (const PaperTable& t : p.tables)
      for (const PaperCell& c : t.cells) {
        std::vector<Cell> row{p.paper, t.table};
        for (const std::string& key : keys) row.emplace_back(c.text(key));
        const Cell fitted_kind = c.fitted ? Cell(name(c.kind_in(TableReading::fitted))) : Cell();
        for (Cell cell : {Cell(c.column), number(c.paper), Cell(name(c.kind)), number(c.ours), number(c.error()),
                          fitted_kind, number(c.fitted), number(c.error(TableReading::fitted)), number(c.peak_share),
                          text(c.excluded), text(c.note)})
          row.push_back(std::move(cell));
        table.add(std::move(row));
      }
  return table.to_csv();
}

}  // namespace draftline
