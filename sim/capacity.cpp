// SPDX-License-Identifier: Apache-2.0
#include "sim/capacity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/fleet_cost.h"
#include "sim/load_search.h"
#include "sim/step_scale.h"

namespace draftline {

namespace {

struct Capacity {
  PerSecond rate;
  bool at_least;  // the requests were too few to say what misses
};
// The largest load, by replica, that the fleet serves within the targets in every replication; each serves the workload
// itself. `replications`: the one that is expected to serve least comes first, as the others then need one run each;
// `margin`: that one's.
Capacity capacity_of(ServingPoint& point, std::uint64_t seed, const std::vector<int>& replications, double margin,
                     const LatencyTargets& targets) {
  constexpr double kPrecise = LoadSearch::kPrecise;
  const double unloaded = margin_of(point.run_without_load(seed, targets), targets);
  const Workload whole = point.workload;
  const double rate = mean_rate(whole);
  const int replicas = point.fleet.replicas;
  bool at_least = false;
  const auto run_at = [&](double r, int replication) {
    point.workload = at_rate(whole, r / rate);
    const SteadyRun& run = steady_run(point, seed_of_replication(seed, replication), targets);
    if (!run.meets() || !run.steady) at_least = run.meets();
    return run;
  };
  const auto serves = [&](double r, int replication) {
    const SteadyRun run = run_at(r, replication);
    return run.meets() && run.steady;
  };
  // One replica less misses the workload, so that the bound is near where there are many.
  LoadSearch search({0, unloaded}, {rate, margin}, replicas == 1 ? 2 : replicas / (replicas - 1.0));
  while (!search.done()) {
    const double r = search.next();
    const SteadyRun run = run_at(r, replications.front());
    search.record({r, run.margin}, run.meets() && run.steady);
  }
  double highest_served = search.served();
  for (std::size_t i = 1; i < replications.size(); ++i) {
    if (serves(highest_served, replications[i])) continue;
    double lowest_missed = std::exchange(highest_served, rate);
    const auto narrow = [&](double r) { (serves(r, replications[i]) ? highest_served : lowest_missed) = r; };
    // Replications bear much the same, so that the bound is near: steps begin small, and each is its square.
    for (double step = kPrecise; lowest_missed > step * highest_served; step *= step) narrow(lowest_missed / step);
    while (lowest_missed / highest_served > kPrecise) narrow(std::sqrt(highest_served * lowest_missed));
  }
  point.workload = whole;
  return {{highest_served / replicas}, at_least};
}

// The replicas, from `enough` to twice as many, that meet the targets in every replication if all steps take `slower`
// times as long.
std::optional<int> replicas_if_slower(double slower, int enough, int replications, ServingPoint& point,
                                      LatencyTargets targets, std::uint64_t seed) {
  const StepScale scale(point, slower);
  for (LatencyTargets::Target& t : targets.targets) t.limit = t.limit / slower;
  return Trials(point, targets, seed, 2 * enough).smallest_in_all(enough, replications);
}

}  // namespace

void check_plannable(const Scenario& s) {
  const Reader root = s.document.root();
  if (s.serving->targets.targets.empty()) root.fail("\"slo\" is required: {\"ttft_p99\": \"500 ms\", ..}");
  if (const auto& axes = s.serving->axes; std::ranges::find(axes, "replicas") != axes.end())
    root.at("replicas").fail("a plan finds the number of replicas: remove the list");
  for (const ServingChoice& c : s.serving->choices)
    if (c.prefill_tensor_parallel) {
      root.at("disaggregation").fail("plans have equal servers: remove \"tensor_parallel\", or simulate");
      break;
    }
  for (const ServingChoice& c : s.serving->choices)
    if (mean_rate(c.workload) <= 0) {
      root.at("workload").fail("a plan requires arrivals with a rate");
      break;
    }
  s.document.finish();
}

FleetOption smallest_fleet(ServingSweep& sweep, std::size_t index, const Prices& prices, int most_devices,
                           std::uint64_t seed) {
  const Scenario& scenario = sweep.scenario();
  const LatencyTargets& targets = scenario.serving->targets;
  FleetOption option;
  option.point = point_at(scenario, index);
  option.is_bound = scenario.serving->choices[option.point.serving].policy.kind == DraftPolicy::Kind::oracle;
  std::unique_ptr<ServingPoint> point;
  try {
    point = sweep.prepare(option.point);
    const ServingRun& run = point->run_without_load(seed, targets);
    if (const auto why = missed_target(run, point->limits, targets)) {
      option.obstacle = run.figures.refused > 0 ? *why : "even without load " + *why;
      return option;
    }
  } catch (const InputErrors& e) {
    option.obstacle = e.what();
    option.can_run = false;
    return option;
  }

  constexpr int kReplications = 3;
  const ServerDevices each = devices_of_server(scenario, option.point);
  const int most = most_devices / each.all() - point->fleet.prefill_replicas,
            replications = scenario.serving->replications.value_or(kReplications);
  Trials trials(*point, targets, seed, most);
  const std::optional<int> first = trials.smallest(1, 0), enough = trials.smallest_in_all(1, replications);
  if (!enough) {
    option.obstacle =
        "more than " + std::to_string(most_devices) + " devices are needed" + trials.last_miss(each.all());
    return option;
  }
  option.replicas = *enough;
  const int servers = option.replicas + point->fleet.prefill_replicas;
  option.devices_of_replica = each.all();
  option.devices = servers * option.devices_of_replica;
  const FleetCost cost = cost_of_fleet(servers, each, prices);
  option.nodes = cost.nodes;
  option.cost = cost.per_hour;
  const int spare = point->fleet.prefill_replicas > 0 ? 2 : 1;
  option.cost_with_spare = cost_of_fleet(servers + spare, each, prices).per_hour;
  for (int i = 0; i < replications; ++i) {
    option.runs.push_back(*trials.at(option.replicas, i));
    ReplicationFleet alone{option.replicas, option.cost, option.runs.back().e2e_mean};
    const int least = i == 0 ? *first : 1;
    for (int fewer = option.replicas - 1; fewer >= least; --fewer) {
      const FleetRun* run = trials.at(fewer, i);
      if (run == nullptr) break;
      alone = {fewer, cost_of_fleet(fewer + point->fleet.prefill_replicas, each, prices).per_hour, run->e2e_mean};
    }
    option.alone.push_back(alone);
  }
  option.load = {mean_rate(point->workload)};
  const std::vector<int> nearest = trials.nearest_first(option.replicas, replications);
  point->fleet.replicas = option.replicas;
  const Capacity capacity =
      capacity_of(*point, seed, nearest, trials.margin(option.replicas, nearest.front()), targets);
  option.capacity = capacity.rate;
  option.capacity_at_least = capacity.at_least;
  const double in_flight = (option.load * mean_e2e(option)) / (option.replicas * point->fleet.stages);
  StepOutlook outlook = sweep.outlook(option.point, *point, in_flight);
  if (outlook.step) option.slowest_step = outlook.step->high;
  option.caveats = std::move(outlook.caveats);
  if (option.slowest_step)
    option.replicas_if_slowest =
        replicas_if_slower(*option.slowest_step, option.replicas, replications, *point, targets, seed);
  return option;
}

Seconds mean_e2e(const FleetOption& o) {
  return {estimate(o.runs, [](const FleetRun& run) { return run.e2e_mean.value; }).value};
}

bool dominated(const FleetOption& o, std::span<const FleetOption> all) {
  const Seconds slow = mean_e2e(o);
  return std::ranges::any_of(all, [&](const FleetOption& x) {
    if (x.obstacle || x.is_bound || x.cost > o.cost) return false;
    const Seconds other = mean_e2e(x);
    return other <= slow && (x.cost < o.cost || other < slow);
  });
}

std::vector<std::size_t> recommended_alone(std::span<const FleetOption> all) {
  std::vector<std::size_t> chosen;
  const auto at = [&](std::size_t option, std::size_t replication) {
    const ReplicationFleet& fleet = all[option].alone[replication];
    return std::pair(fleet.cost, fleet.e2e);
  };
  for (std::size_t i = 0;; ++i) {
    std::optional<std::size_t> best;
    for (std::size_t o = 0; o < all.size(); ++o)
      if (!all[o].is_bound && i < all[o].alone.size() && (!best || at(o, i) < at(*best, i))) best = o;
    if (!best) return chosen;
    chosen.push_back(*best);
  }
}

}  // namespace draftline
