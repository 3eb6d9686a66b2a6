// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_report.h"

#include <algorithm>
#include <numeric>

#include "reports/paragraph.h"
#include "reports/plan_figures.h"
#include "reports/point.h"

namespace draftline {

namespace {

Seconds slowness(const FleetOption& o) { return mean_e2e(o); }

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

// How often each option would be recommended by a replication alone.
std::vector<int> votes(const std::vector<FleetOption>& options) {
  std::vector<int> of(options.size());
  for (const std::size_t chosen : recommended_alone(options)) ++of[chosen];
  return of;
}

PlannedFleet planned(std::size_t i, const std::vector<FleetOption>& options, const std::vector<int>& votes) {
  const FleetOption& o = options[i];
  const bool feasible = o.obstacle.empty(), loses = feasible && dominated(o, options);
  return {o, feasible && !loses, votes[i], why_not(o, options.front(), loses)};
}

void write_json(const Output& to, const Scenario& s, const std::vector<FleetOption>& options, bool any) {
  const PointInputs inputs(s, Format::json);
  const auto figures = plan_figures(has_prices(s));
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  w.member("points_done", options.size());
  w.member("recommended", any ? std::optional<int>(0) : std::nullopt);
  w.member("replications", any ? std::optional(options.front().runs.size()) : std::nullopt);
  const std::vector<int> replications = votes(options);
  std::vector<std::size_t> indices(options.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  w.objects("results", indices, [&](std::size_t i) {
    inputs.write(w, options[i].point);
    write_members(w, figures, planned(i, options, replications));
  });
  w.end_object();
  w.finish();
}

// "2 x l40s, eagle3 with 4 drafts"; of drafters with devices of their own "2 x h100-sxm and 2 x l4 that draft, ..".
std::string name_of(const FleetOption& o, const Scenario& s) {
  const MethodSpec& m = s.method(o.point).spec;
  const auto& apart = s.method(o.point).drafter_device;
  const int drafters = apart ? o.replicas : 0;
  std::string text = std::to_string(o.devices - drafters) + " x " + s.devices[o.point.device]->name;
  if (apart) text += " and " + std::to_string(drafters) + " x " + apart->device->name + " that draft";
  if (const int ranks = s.parallel[o.point.parallel].devices; ranks > 1)
    text += ", " + std::to_string(ranks) + " for each of " + std::to_string(o.replicas) +
            (o.replicas == 1 ? " replica" : " replicas");
  text += ", " + m.label();
  if (const auto k = m.draft_length()) text += " with " + std::to_string(*k) + (*k == 1 ? " draft" : " drafts");
  for (std::size_t i = 0; i < s.serving->axes.size(); ++i)
    text += ", " + s.serving->axes[i] + " " + s.serving->choices[o.point.serving].varying[i];
  return text;
}

std::string nodes_of(const FleetOption& o) {
  return o.nodes ? " (" + std::to_string(*o.nodes) + (*o.nodes == 1 ? " whole node)" : " whole nodes)") : "";
}

// The recommendation, what it bears beyond the load, and how far chance decided.
std::string recommendation(const std::vector<FleetOption>& options, const Scenario& s) {
  const FleetOption& best = options.front();
  std::string text = "Recommended: " + name_of(best, s) + nodes_of(best);
  if (has_prices(s)) text += "; " + significant(best.cost, 4) + " an hour";
  text += ".\nIt bears " + to_text(best.replicas * best.capacity) + " where " + to_text(best.load) + " come (" +
          percent(best.headroom()) + " headroom). With a replica to spare (N + 1): ";
  text += has_prices(s) ? significant(best.cost_with_spare, 4) + " an hour"
                        : significant(best.cost_with_spare, 4) + " devices";
  const std::vector<int> replications = votes(options);
  const auto runs = static_cast<int>(best.runs.size());
  if (runs == 1) return text + ".\nOne simulation of each option: \"replications\" shows what chance does.\n";
  text += ".\n" + std::to_string(runs) + " simulations of each option meet the targets";
  if (replications.front() == runs) return text + ", and each alone recommends the same.\n";
  text += ", but which is the cheapest hangs on chance:";
  for (std::size_t i = 0; i < options.size(); ++i)
    if (replications[i] > 0)
      text += "\n  " + std::to_string(replications[i]) + " of " + std::to_string(runs) + " alone recommend " +
              s.devices[options[i].point.device]->name +
              name_of(options[i], s).substr(name_of(options[i], s).find(','));
  return text + "\n";
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
  const std::vector<int> replications = votes(options);
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::vector<Cell> row = inputs.cells(options[i].point);
    add_cells(row, columns, planned(i, options, replications));
    table.add(std::move(row));
  }
  if (to.format == Format::csv) {
    out << table.to_csv();
  } else {
    if (!s.question.empty()) out << paragraph(s.question, to.width);
    out << (any ? recommendation(options, s) : "No option meets the targets.\n") << table.to_text(to.width);
    if (!s.note.empty()) out << paragraph(s.note, to.width);
  }
  out.flush();
  if (!out) throw OutputError("standard output can't be written");
}

}  // namespace draftline
