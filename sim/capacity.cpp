// SPDX-License-Identifier: Apache-2.0
#include "sim/capacity.h"

#include <algorithm>
#include <cmath>

namespace draftline {

namespace {

// The first target that a run misses, as text; "" if it meets all. A run with refused requests misses them.
std::string missed(const ServingRun& r, const SchedulerLimits& limits, const LatencyTargets& targets) {
  if (r.figures.refused > 0) return refusals(r.figures, limits);
  for (const LatencyTargets::Target& t : targets.targets)
    if (!r.figures.meets(t)) return t.name + " " + to_text(r.figures.value_of(t)) + " > " + to_text(t.limit);
  return r.diverges ? "the queue grows" : "";
}

// What so many replicas of `each` devices take and cost. One of more devices than a node has takes nodes of its own.
struct Bought {
  std::optional<int> nodes;
  double cost;
};
Bought bought(int servers, int each, const std::string& device, const Prices& prices) {
  const auto node = prices.node_of(device);
  if (!node) return {std::nullopt, servers * each * prices.of(device)};
  const int in_a_node = *node / each, nodes_of_one = (each + *node - 1) / *node;
  const int nodes = in_a_node > 0 ? (servers + in_a_node - 1) / in_a_node : servers * nodes_of_one;
  return {nodes, 1.0 * nodes * *node * prices.of(device)};
}

}  // namespace

void check_plannable(const Scenario& s) {
  const Reader root = s.document.root();
  if (s.serving->targets.targets.empty()) root.fail("\"slo\" is needed: {\"ttft_p99\": \"500 ms\", ..}");
  for (const ServingChoice& c : s.serving->choices)
    if (mean_rate(c.workload) <= 0) {
      root.at("workload").fail("a plan needs arrivals with a rate");
      break;
    }
  for (const MethodChoice& m : s.methods)
    if (m.drafter_device)
      m.spec.in()
          .at("drafter_device")
          .fail("a plan buys devices of one kind; `simulate` serves with a drafter on a device of its own");
  if (const auto& prices = s.serving->prices.per_hour; !prices.empty())
    for (const auto& device : s.devices)
      if (!prices.contains(device->name)) root.at("prices").fail("has no price of " + device->name);
  s.document.finish();
}

FleetOption smallest_fleet(ServingSweep& sweep, std::size_t index, const Prices& prices, int most_devices,
                           std::uint64_t seed) {
  const Scenario& scenario = sweep.scenario();
  const LatencyTargets& targets = scenario.serving->targets;
  FleetOption option;
  option.point = point_at(scenario, index);
  const int ranks = scenario.parallel[option.point.parallel].devices;
  std::unique_ptr<ServingPoint> point;
  PerSecond burst;  // the rate at which all requests arrive while one is served; higher rates change little
  try {
    point = sweep.prepare(option.point);
    {  // without load: one request at a time
      ServingPoint& p = *point;
      const Workload whole = p.workload;
      p.workload.arrivals = {ArrivalProcess::Kind::closed};
      p.workload.arrivals.concurrency = 1;
      p.workload.arrival_trace = nullptr;
      p.fleet.replicas = 1;
      const ServingRun run = p.run(seed, targets);
      if (const std::string why = missed(run, point->limits, targets); !why.empty()) {
        option.obstacle = run.figures.refused > 0 ? why : "even without load " + why;
        return option;
      }
      burst = static_cast<double>(whole.requests) / run.figures.e2e.mean();
      p.workload = whole;
    }
  } catch (const InputErrors& e) {
    option.obstacle = e.what();
    return option;
  }

  constexpr int kReplications = 3;
  const int each = ranks * point->fleet.stages, most = most_devices / each - point->fleet.prefill_replicas,
            replications = scenario.serving->replications.value_or(kReplications);
  std::string last_miss;
  const auto served = [&](int replicas, int replication) -> std::optional<ServingRun> {  // none: misses the targets
    point->fleet.replicas = replicas;
    ServingRun run = point->run(seed_of_replication(seed, replication), targets);
    std::string why = missed(run, point->limits, targets);
    if (why.empty()) return run;
    last_miss = std::to_string(replicas * each) + ", " + why;
    return std::nullopt;
  };
  // The smallest number of replicas, at least `from`, that meets the targets in a replication; none: not even the most.
  const auto smallest = [&](int from, int replication) -> std::optional<int> {
    int low = from - 1, high = from;  // low does not suffice
    while (high <= most && !served(high, replication)) {
      low = high;
      high = high == most ? most + 1 : std::min(2 * high, most);
    }
    while (high <= most && high - low > 1) {
      const int middle = low + (high - low) / 2;
      (served(middle, replication) ? high : low) = middle;
    }
    return high <= most ? std::optional(high) : std::nullopt;
  };
  const std::optional<int> first = smallest(1, 0);
  std::optional<int> enough = first;
  while (enough && option.runs.size() < static_cast<std::size_t>(replications)) {
    const auto replication = static_cast<int>(option.runs.size());
    if (auto run = served(*enough, replication)) {
      option.runs.push_back(std::move(*run));
    } else {
      enough = smallest(*enough + 1, replication);
      option.runs.clear();
    }
  }
  if (!enough) {
    option.obstacle = "more than " + std::to_string(most_devices) + " devices are needed" +
                      (last_miss.empty() ? "" : "; with " + last_miss);
    return option;
  }
  const int high = *enough;
  option.replicas = high;
  const int servers = high + point->fleet.prefill_replicas;
  option.devices = servers * each;
  const std::string& device = scenario.devices[option.point.device]->name;
  const Bought fleet = bought(servers, each, device, prices);
  option.nodes = fleet.nodes;
  option.cost = fleet.cost;
  option.cost_with_spare = bought(servers + 1, each, device, prices).cost;
  for (int i = 0; i < replications; ++i) {
    ReplicationFleet alone{option.cost, option.runs[static_cast<std::size_t>(i)].figures.e2e.mean()};
    const int least = i == 0 ? *first : 1;
    for (int fewer = high - 1; fewer >= least; --fewer) {
      const auto run = served(fewer, i);
      if (!run) break;
      alone = {bought(fewer + point->fleet.prefill_replicas, each, device, prices).cost, run->figures.e2e.mean()};
    }
    option.alone.push_back(alone);
  }

  // In the first replication one replica serves at least rate / replicas; doubling and bisection find how much more.
  const Workload whole = point->workload;
  const double rate = mean_rate(whole);
  option.load = {rate};
  double bears = rate / *first, fails = rate / std::max(*first - 1, 1);
  point->fleet.replicas = 1;
  const auto bears_at = [&](double r) {
    point->workload = at_rate(whole, r / rate);
    return missed(point->run(seed, targets), point->limits, targets).empty();
  };
  while (*first == 1) {
    fails *= 2;
    if (fails > burst.value || !bears_at(fails)) break;
    bears = fails;
  }
  while (fails / bears > 1.02) {
    const double middle = std::sqrt(bears * fails);
    (bears_at(middle) ? bears : fails) = middle;
  }
  option.capacity = {bears};
  return option;
}

Seconds mean_e2e(const FleetOption& o) {
  return {estimate(o.runs, [](const ServingRun& run) { return run.figures.e2e.mean().value; }).value};
}

bool dominated(const FleetOption& o, std::span<const FleetOption> all) {
  const Seconds slow = mean_e2e(o);
  return std::any_of(all.begin(), all.end(), [&](const FleetOption& x) {
    if (!x.obstacle.empty() || x.cost > o.cost) return false;
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
      if (i < all[o].alone.size() && (!best || at(o, i) < at(*best, i))) best = o;
    if (!best) return chosen;
    chosen.push_back(*best);
  }
}

}  // namespace draftline
