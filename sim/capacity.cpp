// SPDX-License-Identifier: Apache-2.0
#include "sim/capacity.h"

#include <algorithm>
#include <cmath>
#include <functional>
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

namespace {

// What a plan can't have, and its key.
struct Unplannable {
  const char* key;
  const char* why;
};
std::optional<Unplannable> unplannable(const ServingChoice& c) {
  if (c.prefill)
    return Unplannable{"disaggregation",
                       "plans have equal servers: remove the division of those that compute prompts, or simulate"};
  if (mean_rate(c.workload) <= 0) return Unplannable{"workload", "a plan requires arrivals with a rate"};
  return std::nullopt;
}

// The fewest replicas that meet the targets in every replication under both loads; none: even the most do not.
std::optional<int> smallest_under_both(Trials& asked, Trials& raised, int replications) {
  std::optional<int> enough = 1;
  for (std::optional<int> before; enough && enough != before;) {
    before = enough;
    enough = raised.smallest_in_all(*enough, replications);
    if (enough) enough = asked.smallest_in_all(*enough, replications);
  }
  return enough;
}

// Each replication's own smallest fleet under both loads, of at most the option's replicas. Latencies are those at the
// load itself.
std::vector<ReplicationFleet> fleets_alone(const FleetOption& o, Trials& asked, Trials& raised, int replications,
                                           const std::function<double(int replicas)>& cost_of) {
  std::vector<ReplicationFleet> all;
  for (int i = 0; i < replications; ++i) {
    ReplicationFleet& alone = all.emplace_back(ReplicationFleet{o.replicas, o.cost, asked.at(o.replicas, i)->e2e.mean});
    for (int fewer = o.replicas - 1; fewer >= 1; --fewer) {
      const FleetRun* run = raised.at(fewer, i) != nullptr ? asked.at(fewer, i) : nullptr;
      if (run == nullptr) break;
      alone = {fewer, cost_of(fewer), run->e2e.mean};
    }
  }
  return all;
}

// Sets all figures of an option that can run.
void plan_fleet(FleetOption& option, ServingSweep& sweep, const Prices& prices, int most_devices, std::uint64_t seed,
                double headroom) {
  const Scenario& scenario = sweep.scenario();
  const LatencyTargets& targets = scenario.serving->targets;
  const auto point = sweep.prepare(option.point);
  const ServingRun& unloaded = point->run_without_load(seed, targets);
  option.load = {mean_rate(point->workload)};
  if (const auto why = shortfall(unloaded, point->limits, targets)) {
    option.obstacle = unloaded.figures.refused > 0 ? *why : "even without load " + *why;
    option.missed = missed_targets(unloaded, targets);
    return;
  }

  constexpr int kReplications = 3;
  const ServerDevices each = devices_of_server(scenario, option.point);
  const int prefillers = point->fleet.prefill_replicas, most = most_devices / each.all() - prefillers,
            replications = scenario.serving->replications.value_or(kReplications);
  Trials asked(*point, targets, seed, most), raised(*point, targets, seed, most, 1 + headroom);
  const std::optional<int> enough = smallest_under_both(asked, raised, replications);
  if (!enough) {
    Trials::Miss miss = raised.last_miss(each.all());
    if (miss.text.empty()) miss = asked.last_miss(each.all());
    option.obstacle = "more than " + std::to_string(most_devices) + " devices are needed" + miss.text;
    option.missed = std::move(miss.targets);
    return;
  }
  const auto cost_of = [&](int servers) { return cost_of_fleet(servers, each, prices); };
  option.replicas = *enough;
  const int servers = option.replicas + prefillers, spare = prefillers > 0 ? 2 : 1;
  option.devices_of_replica = each.all();
  option.devices = servers * option.devices_of_replica;
  option.nodes = cost_of(servers).nodes;
  option.cost = cost_of(servers).per_hour;
  option.cost_with_spare = cost_of(servers + spare).per_hour;
  for (int i = 0; i < replications; ++i) option.runs.push_back(*asked.at(option.replicas, i));
  option.alone = fleets_alone(option, asked, raised, replications,
                              [&](int replicas) { return cost_of(replicas + prefillers).per_hour; });

  const std::vector<int> nearest = raised.nearest_first(option.replicas, replications);
  point->fleet.replicas = option.replicas;
  const Workload load = std::exchange(point->workload, at_rate(point->workload, 1 + headroom));
  const Capacity capacity =
      capacity_of(*point, seed, nearest, raised.margin(option.replicas, nearest.front()), targets);
  point->workload = load;
  option.capacity = capacity.rate;
  option.capacity_at_least = capacity.at_least;
  const double in_flight = (option.load * mean_e2e(option)) / (option.replicas * point->fleet.stages);
  StepOutlook outlook = sweep.outlook(option.point, *point, in_flight);
  if (outlook.step) option.slowest_step = outlook.step->high;
  option.caveats = std::move(outlook.caveats);
  if (const auto few = few_for_percentiles(point->workload, targets)) option.caveats.warnings.push_back(*few);
  if (option.slowest_step)
    option.replicas_if_slowest =
        replicas_if_slower(*option.slowest_step, option.replicas, replications, *point, targets, seed);
}

}  // namespace

void check_plannable(const Scenario& s) {
  const Reader root = s.document.root();
  if (s.serving->targets.targets.empty()) root.fail("\"slo\" is required: {\"ttft_p99\": \"500 ms\", ..}");
  if (const auto& axes = s.serving->axes; std::ranges::find(axes, "replicas") != axes.end())
    root.at("replicas").fail("a plan finds the number of replicas: remove the list");
  if (std::ranges::all_of(s.serving->choices, [](const ServingChoice& c) { return unplannable(c).has_value(); })) {
    const auto first = *unplannable(s.serving->choices.front());
    root.at(first.key).fail(first.why);
  }
  s.document.finish();
}

FleetOption smallest_fleet(ServingSweep& sweep, std::size_t index, const Prices& prices, int most_devices,
                           std::uint64_t seed, double headroom) {
  const Scenario& scenario = sweep.scenario();
  FleetOption option;
  option.point = point_at(scenario, index);
  const ServingChoice& choice = scenario.serving->choices[option.point.serving];
  option.is_bound = choice.policy.kind == DraftPolicy::Kind::oracle;
  try {
    if (const auto not_planned = unplannable(choice)) throw InputErrors(not_planned->why);
    plan_fleet(option, sweep, prices, most_devices, seed, headroom);
  } catch (const InputErrors& e) {
    FleetOption none;
    none.point = option.point;
    none.is_bound = option.is_bound;
    none.obstacle = e.what();
    none.can_run = false;
    return none;
  }
  return option;
}

Seconds mean_e2e(const FleetOption& o) {
  return {estimate(o.runs, [](const FleetRun& run) { return run.e2e.mean.value; }).value};
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
