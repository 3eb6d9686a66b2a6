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

}  // namespace

void check_plannable(const Scenario& s) {
  const Reader root = s.document.root();
  if (s.serving->targets.targets.empty()) root.fail("\"slo\" is needed: {\"ttft_p99\": \"500 ms\", ..}");
  for (const ServingChoice& c : s.serving->choices)
    if (mean_rate(c.workload) <= 0) {
      root.at("workload").fail("a plan needs arrivals with a rate");
      break;
    }
  if (!s.serving->prices.empty())
    for (const auto& device : s.devices)
      if (!s.serving->prices.contains(device->name)) root.at("prices").fail("has no price of " + device->name);
  s.document.finish();
}

FleetOption smallest_fleet(ServingSweep& sweep, std::size_t index, const Prices& prices, int most_devices,
                           std::uint64_t seed) {
  const Scenario& scenario = sweep.scenario();
  const LatencyTargets& targets = scenario.serving->targets;
  FleetOption option;
  option.point = point_at(scenario, index);
  const int ranks = scenario.tensor_parallel[option.point.ranks];
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

  const int each = ranks * point->fleet.stages, most = most_devices / each - point->fleet.prefill_replicas;
  std::string last_miss;
  const auto enough = [&](int replicas) {
    point->fleet.replicas = replicas;
    ServingRun run = point->run(seed, targets);
    std::string why = missed(run, point->limits, targets);
    if (!why.empty()) {
      last_miss = std::move(why);
      return false;
    }
    option.run = std::move(run);
    return true;
  };
  int low = 0, high = 1;  // low does not suffice
  while (high <= most && !enough(high)) {
    low = high;
    high = high == most ? most + 1 : std::min(2 * high, most);
  }
  if (high > most) {
    option.obstacle = "more than " + std::to_string(most_devices) + " devices are needed" +
                      (last_miss.empty() ? "" : "; with " + std::to_string(low * each) + ", " + last_miss);
    return option;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  option.replicas = high;
  option.devices = (high + point->fleet.prefill_replicas) * each;
  option.cost = option.devices * prices.of(*scenario.devices[option.point.device]);

  // One replica serves at least rate / replicas; doubling and bisection find how much more.
  const Workload whole = point->workload;
  const double rate = mean_rate(whole);
  double bears = rate / high, fails = rate / std::max(low, 1);
  point->fleet.replicas = 1;
  const auto bears_at = [&](double r) {
    point->workload = at_rate(whole, r / rate);
    return missed(point->run(seed, targets), point->limits, targets).empty();
  };
  while (low == 0) {
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

bool dominated(const FleetOption& o, std::span<const FleetOption> all) {
  const auto slow = [](const FleetOption& x) { return x.run->figures.e2e.mean(); };
  return std::any_of(all.begin(), all.end(), [&](const FleetOption& x) {
    return x.obstacle.empty() && x.cost <= o.cost && slow(x) <= slow(o) && (x.cost < o.cost || slow(x) < slow(o));
  });
}

}  // namespace draftline
