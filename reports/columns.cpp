// SPDX-License-Identifier: Apache-2.0
#include "reports/columns.h"

#include <algorithm>

#include "reports/advise_figures.h"
#include "reports/plan_figures.h"
#include "reports/point_figures.h"
#include "reports/run_figures.h"
#include "reports/simulate_figures.h"

namespace draftline {

namespace {

template <class T, class About>
void add(std::vector<FigureList::Row>& rows, const Figures<T, About>& figures, const std::string& inside = "") {
  for (const auto& f : figures)
    rows.push_back({f.title, f.csv, f.json.member.empty() ? "" : inside + f.json.text(), f.unit,
                    f.kind ? std::string(name(*f.kind)) : "",
                    f.meaning + (f.column.whole ? "; in tables its share" : "")});
}

template <class T, class About>
FigureList list(const std::string& name, const Figures<T, About>& figures, const std::string& inside = "") {
  FigureList all{name, {}};
  add(all.rows, figures, inside);
  return all;
}

}  // namespace

std::vector<FigureList> documented_figures() {
  Advice one_prompt;
  one_prompt.best.emplace_back();
  FigureList simulate = list("simulate", simulate_figures());
  add(simulate.rows, timing_figures());
  return {list("inputs", point_figures(), "inputs/"),
          list("run", run_figures()),
          list("run, kernels", kernel_figures(), "kernels/"),
          std::move(simulate),
          list("plan", plan_figures()),
          list("advise", advise_figures()),
          list("advise, each batch", batch_figures(one_prompt), "batches/"),
          list("advise, best draft lengths", best_length_figures(), "best_draft_lengths/"),
          list("advise, schedule", schedule_figures(), "schedule/"),
          list("advise, ranking", ranking_figures())};
}

std::string markdown(const FigureList& figures) {
  using Row = FigureList::Row;
  const auto code = [](const std::string& name) { return name.empty() ? "" : "`" + name + "`"; };
  std::vector<std::pair<const char*, std::string Row::*>> columns;
  for (const auto& column :
       {std::pair("title", &Row::title), std::pair("CSV", &Row::csv), std::pair("JSON", &Row::json),
        std::pair("unit", &Row::unit), std::pair("kind", &Row::kind), std::pair("what", &Row::meaning)})
    if (std::any_of(figures.rows.begin(), figures.rows.end(),
                    [&](const Row& r) { return !(r.*column.second).empty(); }))
      columns.push_back(column);
  std::vector<Table::Column> titles;
  for (const auto& [title, member] : columns) titles.emplace_back(title);
  Table table(std::move(titles));
  for (const Row& r : figures.rows) {
    std::vector<Cell> cells;
    for (const auto& [title, member] : columns) {
      const bool is_name = member == &Row::title || member == &Row::csv || member == &Row::json;
      cells.emplace_back(is_name ? code(r.*member) : r.*member);
    }
    table.add(std::move(cells));
  }
  return table.to_markdown();
}

}  // namespace draftline
