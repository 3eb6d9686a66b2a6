// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_report.h"

#include <algorithm>
#include <compare>
#include <map>
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

// A fleet that replications alone would recommend: the option's index, and its replicas.
struct Vote {
  std::size_t option;
  int replicas;
  auto operator<=>(const Vote&) const = default;
};

// How many replications alone would recommend which fleet, the cheapest options first.
std::map<Vote, int> votes_of(const std::vector<FleetOption>& options) {
  std::map<Vote, int> votes;
  const auto chosen = recommended_alone(options);
  for (std::size_t i = 0; i < chosen.size(); ++i) ++votes[{chosen[i], options[chosen[i]].alone[i].replicas}];
  return votes;
}

// How many would recommend the option with as many replicas as all replications together need.
int votes_for(std::size_t option, const std::vector<FleetOption>& options, const std::map<Vote, int>& votes) {
  const auto found = votes.find({option, options[option].replicas});
  return found == votes.end() ? 0 : found->second;
}

PlannedFleet planned(std::size_t i, const std::vector<FleetOption>& options, const std::map<Vote, int>& votes) {
  const FleetOption& o = options[i];
  const bool feasible = o.obstacle.empty(), loses = feasible && dominated(o, options);
  return {o, feasible && i == 0, feasible && !loses, votes_for(i, options, votes), why_not(o, options.front(), loses)};
}

void write_json(const Output& to, const Scenario& s, const std::vector<FleetOption>& options, bool any) {
  const PointInputs inputs(s, Format::json);
  const auto figures = plan_figures(has_prices(s));
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  w.member("points_done", options.size());
  w.member("recommended", any ? std::optional<int>(0) : std::nullopt);
  w.member("replications", any ? std::optional(options.front().runs.size()) : std::nullopt);
  const auto votes = votes_of(options);
  std::vector<std::size_t> indices(options.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  w.objects("results", indices, [&](std::size_t i) {
    inputs.write(w, options[i].point);
    write_members(w, figures, planned(i, options, votes));
  });
  w.end_object();
  w.finish();
}

// "2 x l40s, eagle3 with 4 drafts"; of drafters with devices of their own "2 x h100-sxm and 2 x l4 that draft, ..".
std::string name_of(const FleetOption& o, int replicas, const Scenario& s) {
  const MethodSpec& m = s.method(o.point).spec;
  const auto& apart = s.method(o.point).drafter_device;
  const int ranks = s.parallel[o.point.parallel].devices, each = o.devices_of_replica - (apart ? 1 : 0);
  const int prompts = o.devices - o.replicas * o.devices_of_replica;
  std::string text = std::to_string(prompts + replicas * each) + " x " + s.devices[o.point.device]->name;
  if (prompts > 0) text += ", " + std::to_string(prompts) + " of them for prompts";
  if (apart) text += " and " + std::to_string(replicas) + " x " + apart->device->name + " that draft";
  if (ranks > 1)
    text += ", " + std::to_string(ranks) + " for each of " + std::to_string(replicas) +
            (replicas == 1 ? " replica" : " replicas");
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
  std::string text = "Recommended: " + name_of(best, best.replicas, s) + nodes_of(best);
  if (has_prices(s)) text += "; " + significant(best.cost, 4) + " an hour";
  text += best.capacity_at_least ? ".\nIt bears at least " : ".\nIt bears ";
  text += to_text(best.replicas * best.capacity) + " where " + to_text(best.load) + " come (" +
          percent(best.headroom()) + " headroom). With a replica to spare (N + 1): ";
  text += has_prices(s) ? significant(best.cost_with_spare, 4) + " an hour"
                        : significant(best.cost_with_spare, 4) + " devices";
  const auto votes = votes_of(options);
  const auto runs = static_cast<int>(best.runs.size());
  if (runs == 1) return text + ".\nOne simulation of each option: \"replications\" shows what chance does.\n";
  text += ".\n" + std::to_string(runs) + " simulations of each option meet the targets";
  if (votes_for(0, options, votes) == runs) return text + ", and each alone recommends the same.\n";
  text += ", but which is the cheapest hangs on chance:";
  for (const auto& [vote, count] : votes)
    text += "\n  " + std::to_string(count) + " of " + std::to_string(runs) + " alone recommend " +
            name_of(options[vote.option], vote.replicas, s);
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
  const auto votes = votes_of(options);
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::vector<Cell> row = inputs.cells(options[i].point);
    add_cells(row, columns, planned(i, options, votes));
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
