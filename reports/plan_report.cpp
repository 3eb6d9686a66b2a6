// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_report.h"

#include <algorithm>
#include <compare>
#include <map>
#include <span>
#include <tuple>

#include "reports/page/chart_set.h"
#include "reports/page/page.h"
#include "reports/plan_figures.h"
#include "reports/point.h"
#include "reports/row_notes.h"

namespace draftline {

namespace {

Seconds slowness(const FleetOption& o) { return mean_e2e(o); }

// The options of one workload, the best first.
using Options = std::span<const FleetOption>;

// Whether there is an option to recommend.
bool any_meets(Options options) { return !options.front().obstacle && !options.front().is_bound; }

std::string why_not(const FleetOption& o, Options options, bool dominated) {
  const FleetOption& best = options.front();
  if (o.obstacle) return *o.obstacle;
  if (o.is_bound) return "a bound: it uses future acceptance";
  if (&o == &best) return "recommended";
  const double cost = o.cost / best.cost;
  const std::string costs = cost == 1  ? "costs as much"
                            : cost < 2 ? "costs " + percent(cost - 1) + " more"
                                       : "costs " + significant(cost, 3) + " times as much";
  if (dominated && cost > 1) return costs;
  return costs + ", requests take " + significant(slowness(o) / slowness(best), 3) + " times as long";
}

// A fleet that replications alone would recommend: the option's index, and its replicas.
struct Vote {
  std::size_t option;
  int replicas;
  auto operator<=>(const Vote&) const = default;
};

// How many replications alone would recommend which fleet, the cheapest options first.
std::map<Vote, int> votes_of(Options options) {
  std::map<Vote, int> votes;
  const auto chosen = recommended_alone(options);
  for (std::size_t i = 0; i < chosen.size(); ++i) ++votes[{chosen[i], options[chosen[i]].alone[i].replicas}];
  return votes;
}

// How many would recommend the option with as many replicas as all replications together need.
int votes_for(std::size_t option, Options options, const std::map<Vote, int>& votes) {
  const auto found = votes.find({option, options[option].replicas});
  return found == votes.end() ? 0 : found->second;
}

// The options with what is said of each.
std::vector<PlannedFleet> planned(Options options) {
  const auto votes = votes_of(options);
  std::vector<PlannedFleet> all;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const FleetOption& o = options[i];
    const bool feasible = !o.obstacle, loses = feasible && (o.is_bound || dominated(o, options));
    all.push_back({o, feasible && !o.is_bound && i == 0, feasible && !loses, votes_for(i, options, votes),
                   why_not(o, options, loses)});
  }
  return all;
}

// What is asked of the fleet: the workload, and the lengths where the scenario's hold.
auto load_of(const Scenario& s, const FleetOption& o) {
  return std::tuple(s.serving->choices[o.point.serving].load, o.point.prompt, o.point.output);
}

// Sorts the options, those of a workload together, and returns these.
std::vector<Options> by_load(std::vector<FleetOption>& options, const Scenario& s) {
  const auto last = [](const FleetOption& o) { return o.obstacle ? 2 : o.is_bound ? 1 : 0; };
  std::ranges::stable_sort(options, [&](const FleetOption& a, const FleetOption& b) {
    if (load_of(s, a) != load_of(s, b)) return load_of(s, a) < load_of(s, b);
    if (last(a) != last(b)) return last(a) < last(b);
    if (a.obstacle) return false;
    return a.cost != b.cost ? a.cost < b.cost : slowness(a) < slowness(b);
  });
  std::vector<Options> all;
  for (auto from = options.begin(); from != options.end();) {
    const auto to =
        std::find_if(from, options.end(), [&](const FleetOption& o) { return load_of(s, o) != load_of(s, *from); });
    all.emplace_back(from, to);
    from = to;
  }
  return all;
}

// The index of the recommended option; of several workloads a list.
void write_recommended(JsonWriter& w, const std::vector<Options>& loads) {
  std::vector<std::optional<std::size_t>> best;
  std::size_t index = 0;
  for (const Options& options : loads) {
    best.push_back(any_meets(options) ? std::optional(index) : std::nullopt);
    index += options.size();
  }
  if (best.size() > 1) w.list("recommended", best);
  else w.member("recommended", best.empty() ? std::nullopt : best.front());
}

void write_json(const Output& to, const Scenario& s, const std::vector<Options>& loads) {
  const PointInputs inputs(s, Format::json);
  const auto figures = plan_figures(has_prices(s), s.serving->targets);
  std::vector<PlannedFleet> all;
  std::optional<std::size_t> replications;
  for (const Options& options : loads) {
    for (PlannedFleet& one : planned(options)) all.push_back(std::move(one));
    if (any_meets(options)) replications = options.front().runs.size();
  }
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  w.member("points_done", all.size());
  write_recommended(w, loads);
  w.member("replications", replications);
  w.objects("results", all, [&](const PlannedFleet& one) {
    inputs.write(w, one.option.point);
    write_members(w, figures, one);
    write_caveats(w, one.option.caveats);
  });
  w.end_object();
  w.finish();
}

// ", qwen3-14b, in fp8, vllm-0.19": of these what the scenario varies. A format is a choice of quality, too.
std::string varied_setup(const Scenario& s, const Point& p) {
  std::string text;
  if (s.transformers.size() > 1) text += ", " + s.transformers[p.transformer]->name;
  if (s.precisions.size() > 1) text += ", in " + precision_at(s, p).name;
  if (s.engines.size() > 1) text += ", " + version_of(*s.engines[p.engine]);
  return text;
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
  text += varied_setup(s, o.point);
  for (std::size_t i = 0; i < s.serving->axes.size(); ++i)
    text += ", " + s.serving->axes[i] + " " + s.serving->choices[o.point.serving].varying[i];
  return text;
}

// "2 x l40s, k 4": what a chart has room for beside a point, whose colour tells the method.
std::string short_name_of(const FleetOption& o, const Scenario& s) {
  const MethodChoice& m = s.method(o.point);
  const int drafting = m.drafter_device ? o.replicas : 0;
  std::string text = std::to_string(o.devices - drafting) + " x " + s.devices[o.point.device]->name;
  if (m.drafter_device) text += " + " + std::to_string(drafting) + " x " + m.drafter_device->device->name;
  if (const auto k = m.spec.draft_length()) text += ", k " + std::to_string(*k);
  return text;
}

// " at rate 2 /s", where the scenario has several workloads.
std::string load_text(const FleetOption& o, const Scenario& s) {
  const ServingChoice& choice = s.serving->choices[o.point.serving];
  std::string text;
  for (std::size_t i = 0; i < s.serving->axes_of_workload; ++i)
    text += (i == 0 ? " at " : ", ") + s.serving->axes[i] + " " + choice.varying[i];
  return text;
}

std::string nodes_of(const FleetOption& o) {
  return o.nodes ? " (" + std::to_string(*o.nodes) + (*o.nodes == 1 ? " whole node)" : " whole nodes)") : "";
}

// The table has means over the replications, of which the targets must hold in each.
std::string worst_run(const FleetOption& o, const LatencyTargets& targets) {
  std::string text = "The largest values over the simulations are";
  for (std::size_t i = 0; i < targets.targets.size(); ++i) {
    const LatencyTargets::Target& t = targets.targets[i];
    Seconds worst;
    for (const FleetRun& run : o.runs) worst = std::max(worst, run.limited.at(i));
    text += (i == 0 ? " " : ", ") + t.name + " " + to_text(worst) + " (limit " + to_text(t.limit) + ")";
  }
  return text + ".";
}

// What the fleet does if its steps are as long as the errors of their kernels allow; "" if these are not known.
std::string slow_steps(const FleetOption& o) {
  if (!o.slowest_step) return "";
  const std::string longer = percent(*o.slowest_step - 1) + " longer (upper end of the 90 % interval), ";
  if (o.replicas_if_slowest == o.replicas) return "With steps " + longer + "it still meets the targets.";
  return "With steps " + longer +
         (o.replicas_if_slowest ? "it needs " + std::to_string(*o.replicas_if_slowest) + " replicas."
                                : "not even " + std::to_string(2 * o.replicas) + " replicas meet the targets.");
}

std::string chosen(Options options, const Scenario& s) {
  const FleetOption& best = options.front();
  if (!any_meets(options)) return "No option meets the targets" + load_text(best, s) + ".";
  const std::string price = has_prices(s) ? "; " + significant(best.cost, 4) + " per hour" : "";
  return "Recommended: " + name_of(best, best.replicas, s) + nodes_of(best) + price + ".";
}

// The recommendation, what it bears beyond the load, and how far chance decided: a line each.
std::vector<std::string> recommendation(Options options, const Scenario& s, double headroom) {
  const FleetOption& best = options.front();
  std::vector<std::string> lines{chosen(options, s)};
  if (!any_meets(options)) return lines;
  std::string bears = best.capacity_at_least ? "It serves at least " : "It serves up to ";
  bears += to_text(best.fleet_capacity()) + " for a load of " + to_text(best.load) + " (" + percent(best.headroom()) +
           " headroom). With a spare replica (N + 1): ";
  bears += has_prices(s) ? significant(best.cost_with_spare, 4) + " per hour"
                         : std::to_string(std::lround(best.cost_with_spare)) + " devices";
  lines.push_back(bears + ".");
  if (headroom > 0)
    lines.push_back("The recommended fleet, and every other that meets the targets, also meets them at " +
                    to_text((1 + headroom) * best.load) + ", " + percent(headroom) + " above the load (--headroom).");
  if (const std::string slow = slow_steps(best); !slow.empty()) lines.push_back(slow);
  for (const std::string& line : lines_of(best.caveats)) lines.push_back(line);
  const auto votes = votes_of(options);
  const auto runs = count(best.runs);
  if (runs == 1) {
    lines.push_back("One simulation of each option; use \"replications\" to estimate the effect of chance.");
    return lines;
  }
  const std::string met = std::to_string(runs) + " simulations of each option meet the targets";
  if (votes_for(0, options, votes) == runs) {
    lines.push_back(met + ", and each simulation alone recommends the same option.");
  } else {
    lines.push_back(met + ", but the cheapest option depends on chance:");
    for (const auto& [vote, count] : votes)
      lines.push_back("  " + std::to_string(count) + " of " + std::to_string(runs) + " simulations alone recommend " +
                      name_of(options[vote.option], vote.replicas, s));
  }
  lines.push_back(worst_run(best, s.serving->targets));
  if (s.transformers.size() > 1 || s.precisions.size() > 1)
    lines.push_back("The quality of the texts of different networks and formats is not considered.");
  return lines;
}

// Each fleet's price against the latency of its requests, and a line through those that no other fleet beats, which are
// named. One chart for each workload.
ChartSet fleet_charts(const std::vector<Options>& loads, const Scenario& s) {
  Chart common;
  common.title = "Fleets that meet the targets";
  common.x = {has_prices(s) ? "price per hour" : "devices", false, to_digits<4>};
  common.y = {"end-to-end latency, mean", false, [](double seconds) { return to_text(Seconds{seconds}); }};
  ChartSet charts(std::move(common));
  for (const Options& options : loads) {
    std::string load = load_text(options.front(), s);
    load.erase(0, load.find_first_not_of(' '));
    const auto all = planned(options);
    const auto point_of = [&](const FleetOption& o) {
      const Estimate e2e = estimate(o.runs, [](const FleetRun& run) { return run.e2e.mean.value; });
      return ChartPoint{o.cost, e2e.value, e2e.interval, name_of(o, o.replicas, s)};
    };
    const bool several = std::ranges::count_if(all, [](const PlannedFleet& f) { return f.pareto; }) > 1;
    for (const PlannedFleet& one : all) {
      if (!one.pareto || !several) continue;
      ChartPoint best = point_of(one.option);
      best.interval.reset();
      charts.add(load, "no other is cheaper and faster", std::move(best));
    }
    for (const PlannedFleet& one : all) {
      if (!one.meets_targets()) continue;
      ChartPoint point = point_of(one.option);
      if (one.pareto) point.name = short_name_of(one.option, s);
      charts.add(load, s.method(one.option.point).spec.label() + (one.option.is_bound ? ", a bound" : ""),
                 std::move(point), false);
    }
  }
  return charts;
}

void write_page(const Output& to, const Scenario& s, const std::vector<Options>& loads, const Table& table,
                const RowNotes& notes) {
  const auto page = page_of(to, s);
  for (const Options& of_load : loads) {
    const std::vector<std::string> sentences = recommendation(of_load, s, to.asked.options.headroom);
    const int reserves = sentences.size() == 1 ? 0 : to.asked.options.headroom > 0 ? 2 : 1;
    const auto more = sentences.begin() + 1, doubts = more + reserves;
    page->verdict(sentences.front(), {more, doubts}, {doubts, sentences.end()});
  }
  const ChartSet charts = fleet_charts(loads, s);
  for (const Chart& c : charts.charts()) page->show(c);
  if (to.format == Format::html) page->say(charts.left_out());
  if (loads.empty()) page->say("No option meets the targets.");
  page->show(table);
  for (const std::string& line : notes.lines()) page->say(line);
  page->say(s.note);
  page->finish();
}

}  // namespace

std::vector<std::string> plan_verdicts(const Scenario& s, std::vector<FleetOption> options) {
  std::vector<std::string> verdicts;
  for (const Options& of_load : by_load(options, s)) verdicts.push_back(chosen(of_load, s));
  return verdicts;
}

void write_plan(const Output& to, const Scenario& s, std::vector<FleetOption> options) {
  std::ostream& out = to.stream;
  const auto loads = by_load(options, s);
  if (to.format == Format::json) return write_json(to, s, loads);

  const PointInputs inputs(s, to.format);
  const auto columns = columns_of(plan_figures(true, s.serving->targets), s, to.format);
  std::vector<Table::Column> titles = inputs.titles();
  add_titles(titles, columns);
  titles.emplace_back("notes", "", false, true);
  RowNotes notes;
  Table table(std::move(titles));
  for (const Options& of_load : loads)
    for (const PlannedFleet& one : planned(of_load)) {
      std::vector<Cell> row = inputs.cells(one.option.point);
      add_cells(row, columns, one);
      row.emplace_back(to.format == Format::csv ? text_of(one.option.caveats) : notes.mark(one.option.caveats));
      table.add(std::move(row));
    }
  if (to.format != Format::csv) return write_page(to, s, loads, table, notes);
  out << table.to_csv();
  finish_stream(out);
}

}  // namespace draftline
