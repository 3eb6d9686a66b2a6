// SPDX-License-Identifier: Apache-2.0
#include "reports/figure_lists.h"

#include <algorithm>

#include "reports/advise_figures.h"
#include "reports/plan_figures.h"
#include "reports/point_figures.h"
#include "reports/run_figures.h"
#include "reports/simulate_figures.h"

namespace draftline {

namespace {

template <class T, class About>
void add(FigureList& to, const Figures<T, About>& figures) {
  const std::string inside = to.list.empty() ? "" : to.list + "/";
  for (const auto& f : figures)
    to.rows.push_back({f.title, f.csv, f.json.member.empty() ? "" : inside + f.json.text(), f.unit,
                       f.kind ? std::string(name(*f.kind)) : "",
                       f.meaning + (f.column.whole ? "; tables show its share of the step" : ""), f.pinned(),
                       f.check.identifies, std::string(f.check.was)});
}

template <class T, class About>
FigureList list(FigureList begun, const Figures<T, About>& figures) {
  add(begun, figures);
  return begun;
}

std::string dotted(std::string path) {
  std::ranges::replace(path, '/', '.');
  return path;
}

}  // namespace

std::vector<FigureList> documented_figures() {
  Advice one_prompt;
  one_prompt.best.emplace_back();
  FigureList simulate = list({"simulate", "simulate", ""}, simulate_figures());
  add(simulate, timing_figures());
  return {list({"inputs", "", "inputs"}, point_figures()),
          list({"run", "run", ""}, run_figures()),
          list({"run, kernels", "run", "kernels"}, kernel_figures()),
          std::move(simulate),
          list({"plan", "plan", ""}, plan_figures()),
          list({"advise", "advise", "", true}, advise_figures()),
          list({"advise, each batch", "advise", "batches"}, batch_figures(one_prompt)),
          list({"advise, best draft lengths", "advise", "best_draft_lengths"}, best_length_figures()),
          list({"advise, schedule", "advise", "schedule"}, schedule_figures()),
          list({"advise, ranking", "advise", ""}, ranking_figures())};
}

std::vector<std::string> pinned_figures(const std::string& verb) {
  if (verb == "papers") return {"ours", "fitted.ours", "fitted_cost.value"};
  std::vector<std::string> pinned;
  for (const FigureList& figures : documented_figures()) {
    if (figures.verb != verb || !figures.list.empty()) continue;
    if (figures.whole) return {"all"};
    for (const auto& row : figures.rows)
      if (row.pinned) pinned.push_back(dotted(row.json));
  }
  return pinned.empty() ? std::vector<std::string>{"all"} : pinned;
}

std::vector<std::pair<std::string, std::vector<std::string>>> identifying_members() {
  // Lists that are written without figures: tables of papers, `advise`'s settings, `validate`'s and measured files.
  std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"papers", {"paper"}},
      {"tables", {"table"}},
      {"cells", {"row", "column", "transformer", "method", "draft_length", "batch_size", "context"}},
      {"settings", {"prompt_tokens"}},
      {"ops", {"op", "phase"}},
      {"serving", {"batching", "method"}},
      {"stops_paying", {"transformer", "method", "context"}},
      {"points", {"op", "shape"}}};
  for (const FigureList& figures : documented_figures()) {
    std::vector<std::string> members;
    for (const auto& row : figures.rows)
      if (row.identifies) members.push_back(row.json.substr(figures.list.size() + 1));
    if (!members.empty()) all.emplace_back(figures.list, std::move(members));
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> renamed_figures() {
  std::vector<std::pair<std::string, std::string>> all{{"set_apart", "excluded"}};  // of papers
  for (const FigureList& figures : documented_figures())
    for (const auto& row : figures.rows)
      if (!row.was.empty())
        all.emplace_back(dotted(row.was), dotted(row.json.substr(figures.list.empty() ? 0 : figures.list.size() + 1)));
  return all;
}

std::string markdown(const FigureList& figures) {
  using Row = FigureList::Row;
  const auto code = [](const std::string& name) { return name.empty() ? "" : "`" + name + "`"; };
  std::vector<std::pair<const char*, std::string Row::*>> columns;
  for (const auto& column :
       {std::pair("title", &Row::title), std::pair("CSV", &Row::csv), std::pair("JSON", &Row::json),
        std::pair("unit", &Row::unit), std::pair("kind", &Row::kind), std::pair("what", &Row::meaning)})
    if (std::ranges::any_of(figures.rows, [&](const Row& r) { return !(r.*column.second).empty(); }))
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
