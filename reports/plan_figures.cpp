// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_figures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/latency_statistics.h"

namespace draftline {

namespace {

// A statistic of a latency: the mean over the replications, with its interval.
auto statistic_of(FleetRun::Latency FleetRun::*latency, Seconds FleetRun::Latency::*statistic) {
  return [=](const FleetRun& r) { return (r.*latency.*statistic).value; };
}

// TTFT, TPOT and end-to-end latency. Tables show what targets limit, and else the 99th percentile or the mean.
void add_latencies(Figures<PlannedFleet>& to, const LatencyTargets& targets) {
  using Of = LatencyTargets::Target::Of;
  using L = FleetRun::Latency;
  struct Latency {
    Of of;
    const char *path, *title, *meaning;
    FleetRun::Latency FleetRun::*figures;
  };
  constexpr std::array<Latency, 3> kLatencies{{{Of::ttft, "ttft", "TTFT", "time to first token, ", &FleetRun::ttft},
                                               {Of::tpot, "tpot", "TPOT", "time per output token, ", &FleetRun::tpot},
                                               {Of::e2e, "e2e", "e2e", "end-to-end latency, ", &FleetRun::e2e}}};
  const std::map<std::string, Seconds L::*> usual{
      {"mean", &L::mean}, {"p50", &L::p50}, {"p90", &L::p90}, {"p95", &L::p95}, {"p99", &L::p99}};
  for (const Latency& l : kLatencies) {
    const auto statistics = statistics_of(l.of, targets);
    const bool any_limited = std::ranges::any_of(statistics, &LatencyStatistic::limited);
    for (const LatencyStatistic& s : statistics) {
      const bool is_e2e_mean = l.of == Of::e2e && s.share == 0,
                 shown = s.limited || is_e2e_mean || (!any_limited && l.of != Of::e2e && s.name == "p99");
      const auto index =
          std::ranges::find_if(targets.targets, [&](const auto& t) { return t.of == l.of && t.share == s.share; });
      const std::function<double(const FleetRun&)> figure =
          usual.contains(s.name)
              ? std::function<double(const FleetRun&)>(statistic_of(l.figures, usual.at(s.name)))
              : [i = at(index - targets.targets.begin())](const FleetRun& r) { return r.limited.at(i).value; };
      const std::string name = std::string(l.path) + "_" + s.name;
      Figure<PlannedFleet> f{name,
                             name + "_s",
                             !shown        ? ""
                             : is_e2e_mean ? l.title
                                           : std::string(l.title) + " " + s.name,
                             "s",
                             FigureKind::predicted,
                             [figure](const PlannedFleet& p) {
                               if (!p.meets_targets()) return Reading();
                               const Estimate e = estimate(p.option.runs, figure);
                               return Reading(e.value, e.interval);
                             },
                             l.meaning + s.meaning()};
      f.column.detail = true;
      to.push_back(std::move(f));
    }
  }
}

bool is_missed(const FleetOption& o, const LatencyTargets::Target& t) {
  return std::ranges::find(o.missed, t.name, &MissedTarget::name) != o.missed.end();
}

}  // namespace

Figures<PlannedFleet> plan_figures(bool priced, const LatencyTargets& targets) {
  using P = const PlannedFleet&;
  constexpr auto predicted = FigureKind::predicted;
  const auto of = [](auto get) {  // of a fleet that meets the targets
    return [get](P p) { return p.meets_targets() ? Reading(get(p.option)) : Reading(); };
  };
  const auto mean = [&of](auto figure) {  // over the replications, with its interval
    return of([figure](const FleetOption& o) {
      const Estimate e = estimate(o.runs, [&](const FleetRun& r) { return (r.*figure).value; });
      return Reading(e.value, e.interval);
    });
  };
  const auto comes_in_nodes = [](const Scenario& s) {
    return s.serving->prices.usual_devices_per_node || !s.serving->prices.devices_per_node.empty();
  };
  const auto met = [targets](P p) {
    if (!p.option.can_run) return Reading();
    auto each = std::make_shared<nlohmann::json>(nlohmann::json::object());
    for (const auto& t : targets.targets) (*each)[t.name] = !is_missed(p.option, t);
    return Reading(Reading::Tree(std::move(each)));
  };
  const auto verdict = [](P p) {
    if (p.meets_targets()) return Reading(std::string("met"));
    if (!p.option.can_run) return Reading();
    std::string text = "missed";
    for (const MissedTarget& m : p.option.missed) text += " " + m.name;
    return Reading(text);
  };
  const auto excess = [](P p) {
    std::optional<double> most;
    for (const MissedTarget& m : p.option.missed)
      if (m.excess() > 0) most = std::max(most.value_or(0), m.excess());
    return Reading(most);
  };
  using O = const FleetOption&;
  using std::literals::operator""sv;
  Figures<PlannedFleet> all{
      // clang-format off
      {"meets_targets", "", "", "", {}, [](P p) { return p.meets_targets(); },
       "whether some number of replicas meets the latency targets",
       {}, kPinned},
      {"recommended", "", "", "", {}, [](P p) { return p.best; }, "whether this is the recommended fleet", {}, kPinned},
      {"replicas", "replicas", "", "", {}, of([](O o) { return o.replicas; }),
       "the smallest number of replicas that meets the latency targets",
       {}, kPinned},
      {"devices", "devices", "devices", "", {}, of([](O o) { return o.devices; }),
       "devices of all replicas, drafters' own devices included"},
      {"nodes", "nodes", "nodes", "", {}, of([](O o) { return o.nodes; }),
       "whole nodes that hold the devices, with `devices_per_node`", {.show_if = comes_in_nodes}},
      {"cost", "cost", "cost/h", priced ? "price/h" : "devices", predicted, of([](O o) { return o.cost; }),
       "price of the devices by `prices`, in whole nodes; the number of devices without "
       "prices", {.text = to_digits<4>, .show_if = has_prices}},
      {"cost_per_million_tokens", "cost_per_million_tokens", "cost/1M", "price", predicted,
       of([](O o) {
         const Estimate e = estimate(o.runs, [](const FleetRun& r) { return r.throughput.value; });
         return o.cost / 3600 / e.value * 1e6;
       }),
       "price of a million output tokens at this load, idle time included",
       {.text = to_digits<3>, .show_if = has_prices, .in_csv_if = has_prices, .detail = true}},
      {"cost_with_spare", "cost_with_spare", "", priced ? "price/h" : "devices", predicted,
       of([](O o) { return o.cost_with_spare; }),
       "cost with one more server of each kind (N + 1), which meets the targets while one is out of service"},
      {"capacity", "capacity_per_s", "", "requests/s", predicted, of([](O o) { return o.capacity; }),
       "a replica's share of the largest load that the fleet serves within the latency targets"},
      {"fleet_capacity", "fleet_capacity_per_s", "max req/s",
       "requests/s", predicted, of([](O o) { return o.fleet_capacity(); }),
       "the largest load that the fleet serves within the latency targets",
       {.text = [](double rate) { return to_text(PerSecond{rate}); }, .detail = true}},
      {"capacity_at_least", "capacity_at_least", "", "", {}, of([](O o) { return o.capacity_at_least; }),
       "whether the fleet may serve a larger load, as the requests are too few to fill it", {}, kPinned},
      {"headroom", "headroom", "headroom", "", predicted, of([](O o) { return o.headroom(); }),
       "additional load that the fleet can serve, as a share of the workload's", {.text = percent, .detail = true}},
      {"slowest_step", "slowest_step", "", "", predicted, of([](O o) { return o.slowest_step; }),
       "upper end of the 90 % interval of the step time over its prediction, at the number of requests in flight"},
      {"replicas_if_slowest", "replicas_if_slowest", "", "", predicted, of([](O o) { return o.replicas_if_slowest; }),
       "replicas that meet the targets if every step takes `slowest_step` times as long; absent if twice as many do "
       "not, or if the error is unknown"},
      {"throughput", "", "", "tokens/s", predicted, mean(&FleetRun::throughput),
       "output tokens of the load"},
      // clang-format on
  };
  add_latencies(all, targets);
  const Figures<PlannedFleet> others{
      // clang-format off
      {"", "targets", "targets", "", {}, verdict,
       "`met` if every replication meets every limit of `slo`; else `missed` and the limits that are not met, by the "
       "largest fleet or without load: all of them if requests were refused, none if the queue grows; empty if no "
       "server can run", {.detail = true}},
      {"targets", "", "", "", {}, met, "for each latency target, by its name, whether it is met; absent if no server can run"},
      {"missed_by", "missed_by", "", "", {}, excess,
       "the largest value of a missed target over its limit, less 1; absent if no value is above its limit"},
      {"", "", "Pareto", "", {}, [](P p) { return p.pareto ? Reading("*"sv) : Reading(); },
       "`*` if no other option is both cheaper and faster"},
      {"why", "why", "why", "", {}, [](P p) { return p.why; },
       "cost and latency relative to the recommended fleet, or the reason why the targets are missed", {}, kNotPinned},
      {"recommended_in", "recommended_in", "", "", {},
       [](P p) { return p.meets_targets() ? Reading(p.recommended) : Reading(); },
       "number of replications that, taken alone, recommend this option with the same number of replicas"},
      {"", "pareto", "", "", {}, [](P p) { return p.pareto; }, "whether no other option is both cheaper and faster"},
      {"pareto", "", "", "", {}, [](P p) { return p.meets_targets() ? Reading(p.pareto) : Reading(); },
       "whether no other option that meets the targets is both cheaper and faster", {}, kPinned},
      // clang-format on
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace draftline
