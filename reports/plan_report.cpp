// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_report.h"

#include <algorithm>

#include "reports/plan_figures.h"
#include "reports/point.h"

namespace draftline {

namespace {

Seconds slowness(const FleetOption& o) { return o.run->figures.e2e.mean(); }

std::string why_not(const FleetOption& o, const FleetOption& best, bool dominated) {
  if (!o.obstacle.empty()) return o.obstacle;
  if (&o == &best) return "recommended";
  if (o.cost > best.cost) {
    std::string text = significant(o.cost / best.cost, 3) + " x cost";
    if (!dominated) text += ", " + significant(slowness(best) / slowness(o), 3) + " x speed";
    return text;
  }
  return "as cheap, " + significant(slowness(best) / slowness(o), 3) + " x speed";
}

PlannedFleet planned(const FleetOption& o, const std::vector<FleetOption>& options) {
  const bool feasible = o.obstacle.empty(), loses = feasible && dominated(o, options);
  return {o, feasible && !loses, why_not(o, options.front(), loses)};
}

void write_json(const Output& to, const Scenario& s, const std::vector<FleetOption>& options, bool any) {
  const PointInputs inputs(s, Format::json);
  const auto figures = plan_figures(!s.serving->prices.empty());
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  w.member("points_done", options.size());
  w.member("recommended", any ? std::optional<int>(0) : std::nullopt);
  w.objects("results", options, [&](const FleetOption& o) {
    inputs.write(w, o.point);
    write_members(w, figures, planned(o, options));
  });
  w.end_object();
  w.finish();
}

// The recommendation as a sentence.
std::string recommendation(const FleetOption& best, const Scenario& s) {
  const MethodSpec& m = s.method(best.point).spec;
  std::string text = "Recommended: " + std::to_string(best.devices) + " x " + s.devices[best.point.device]->name;
  if (const int ranks = s.tensor_parallel[best.point.ranks]; ranks > 1)
    text += ", " + std::to_string(ranks) + " for each of " + std::to_string(best.replicas) +
            (best.replicas == 1 ? " replica" : " replicas");
  text += ", " + m.label();
  if (const auto k = m.draft_length()) text += " with " + std::to_string(*k) + (*k == 1 ? " draft" : " drafts");
  for (std::size_t i = 0; i < s.serving->axes.size(); ++i)
    text += ", " + s.serving->axes[i] + " " + s.serving->choices[best.point.serving].varying[i];
  if (!s.serving->prices.empty()) text += "; " + significant(best.cost, 4) + " an hour";
  return text + "; each replica serves up to " + significant(best.capacity.value) + " requests a second.\n";
}

}  // namespace

void write_plan(const Output& to, const Scenario& s, std::vector<FleetOption> options) {
  std::ostream& out = to.stream;
  std::stable_sort(options.begin(), options.end(), [](const FleetOption& a, const FleetOption& b) {
    if (a.obstacle.empty() != b.obstacle.empty()) return a.obstacle.empty();
    if (!a.obstacle.empty()) return false;
    return a.cost != b.cost ? a.cost < b.cost : slowness(a) < slowness(b);
  });
  const bool any = !options.empty() && options.front().obstacle.empty();
  if (to.format == Format::json) return write_json(to, s, options, any);

  const PointInputs inputs(s, to.format);
  const auto columns = columns_of(plan_figures(), s, to.format);
  std::vector<Table::Column> titles = inputs.titles();
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const FleetOption& o : options) {
    std::vector<Cell> row = inputs.cells(o.point);
    add_cells(row, columns, planned(o, options));
    table.add(std::move(row));
  }
  if (to.format == Format::csv) {
    out << table.to_csv();
  } else {
    if (!s.question.empty()) out << s.question << "\n";
    out << (any ? recommendation(options.front(), s) : "No option meets the targets.\n") << table.to_text(to.width);
    if (!s.note.empty()) out << s.note << "\n";
  }
  out.flush();
  if (!out) throw OutputError("standard output can't be written");
}

}  // namespace draftline
