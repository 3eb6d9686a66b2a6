// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_report.h"

#include <algorithm>

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

void write_json(const Output& to, const Scenario& s, const std::vector<FleetOption>& options, bool any) {
  constexpr auto predicted = FigureKind::predicted;
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  w.member("points_done", options.size());
  w.member("recommended", any ? std::optional<int>(0) : std::nullopt);
  w.objects("results", options, [&](const FleetOption& o) {
    const bool loses = o.obstacle.empty() && dominated(o, options);
    write_inputs(w, s, o.point);
    w.member("meets_targets", o.obstacle.empty());
    if (o.obstacle.empty()) {
      const ServingFigures& f = o.run->figures;
      w.member("replicas", o.replicas);
      w.member("devices", o.devices);
      w.figure("cost", o.cost, s.serving->prices.empty() ? "devices" : "price/h", predicted);
      w.figure("capacity", o.capacity.value, "requests/s", predicted);
      w.figure("throughput", f.throughput().value, "tokens/s", predicted);
      w.figure("ttft_p99", f.ttft.quantile(0.99), predicted);
      w.figure("tpot_p99", f.tpot.quantile(0.99), predicted);
      w.figure("e2e_mean", f.e2e.mean(), predicted);
      w.member("pareto", !loses);
    }
    w.member("why", why_not(o, options.front(), loses));
  });
  w.end_object();
  w.finish();
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

  const bool all = to.format == Format::csv;
  std::vector<Table::Column> columns = point_columns(s, all);
  const auto add = [&](const char* title, const char* name) { columns.push_back({title, name}); };
  if (all) add("", "replicas");
  add("devices", "devices");
  if (all || !s.serving->prices.empty()) add("cost/h", "cost");
  add("bears", "capacity_per_s"), add("TTFT p99", "ttft_p99_s"), add("TPOT p99", "tpot_p99_s");
  add("e2e", "e2e_mean_s"), add("why", "why");
  if (all) add("", "pareto");
  Table table(std::move(columns));
  for (const FleetOption& o : options) {
    std::vector<Cell> cells = point_cells(s, o.point, all);
    const bool loses = o.obstacle.empty() && dominated(o, options);
    if (o.obstacle.empty()) {
      const ServingFigures& f = o.run->figures;
      const auto seconds = [&](Seconds t) { cells.emplace_back(t.value, to_text(t)); };
      if (all) cells.emplace_back(o.replicas);
      cells.emplace_back(o.devices);
      if (all || !s.serving->prices.empty()) cells.emplace_back(o.cost, 4);
      cells.emplace_back(o.capacity.value, to_text(o.capacity));
      seconds(f.ttft.quantile(0.99));
      seconds(f.tpot.quantile(0.99));
      seconds(f.e2e.mean());
    }
    while (cells.size() + (all ? 2 : 1) < table.columns()) cells.emplace_back();
    cells.emplace_back(why_not(o, options.front(), loses));
    if (all) cells.emplace_back(o.obstacle.empty() && !loses);
    table.add(std::move(cells));
  }
  if (to.format == Format::csv) {
    out << table.to_csv();
  } else {
    if (!s.question.empty()) out << s.question << "\n";
    if (any) {
      const FleetOption& best = options.front();
      const MethodChoice& m = s.methods[best.point.method];
      out << "Recommended: " << best.devices << " x " << s.devices[best.point.device]->name;
      if (const int ranks = s.tensor_parallel[best.point.ranks]; ranks > 1)
        out << ", " << ranks << " for each of " << best.replicas << (best.replicas == 1 ? " replica" : " replicas");
      out << ", " << m.spec.label();
      if (m.spec.draft_length())
        out << " with " << *m.spec.draft_length() << (*m.spec.draft_length() == 1 ? " draft" : " drafts");
      for (std::size_t i = 0; i < s.serving->axes.size(); ++i)
        out << ", " << s.serving->axes[i] << " " << s.serving->choices[best.point.serving].varying[i];
      if (!s.serving->prices.empty()) out << "; " << significant(best.cost, 4) << " an hour";
      out << "; each replica bears " << significant(best.capacity.value) << " requests a second.\n";
    } else {
      out << "No option meets the targets.\n";
    }
    out << table.to_text(to.width);
    if (!s.note.empty()) out << s.note << "\n";
  }
  out.flush();
  if (!out) throw OutputError("standard output can't be written");
}

}  // namespace draftline
