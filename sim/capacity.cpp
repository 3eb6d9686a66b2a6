// SPDX-License-Identifier: Apache-2.0
#include "sim/capacity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "sim/fleet_cost.h"

namespace draftline {

namespace {

// The first target that a run misses, as text; "" if it meets all. A run with refused requests misses them.
std::string missed(const ServingRun& r, const SchedulerLimits& limits, const LatencyTargets& targets) {
  if (r.figures.refused > 0) return refusals(r.figures, limits);
  for (const LatencyTargets::Target& t : targets.targets)
    if (!r.figures.meets(t)) return t.name + " " + to_text(r.figures.value_of(t)) + " > " + to_text(t.limit);
  return r.diverges ? "the queue grows" : "";
}

// A run of a load that lasts: where arrivals end before the servers are full, while they still fill, or before it is
// clear whether the queue grows, it is repeated with more requests. A recording has no more.
struct LastingRun {
  ServingRun run;
  std::int64_t requests;
  bool meets, lasts;
};
LastingRun lasting_run(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  constexpr double kFills = 8;
  Workload& workload = point.workload;
  const std::int64_t asked = workload.requests;
  for (;;) {
    LastingRun out{point.run_while_targets_hold(seed, targets), workload.requests, false, false};
    out.meets = !out.run.cut_short && missed(out.run, point.limits, targets).empty();
    out.lasts = fills_servers(workload, out.run);
    const bool settled = out.lasts && !out.run.unsettled && !out.run.fills;
    if (!out.meets || settled || is_recorded(workload) || workload.requests >= kMostRequests) {
      workload.requests = asked;
      return out;
    }
    const double enough = out.lasts ? 0 : kFills * requests_in_flight(workload, out.run);
    workload.requests = more_requests(workload, enough);
  }
}

// The whole workload on fleets of one point, each replication of each fleet at most once.
class Trials {
 public:
  Trials(ServingPoint& point, const LatencyTargets& targets, std::uint64_t seed, int most)
      : point_(point), targets_(targets), seed_(seed), most_(most) {}

  // What a replication says of so many replicas; null if they miss a target. Valid as long as the trials.
  const FleetRun* at(int replicas, int replication) {
    const auto [known, fresh] = runs_.try_emplace({replicas, replication});
    if (fresh) known->second = run(replicas, replication);
    const Trial& trial = known->second;
    if (trial.figures) return &*trial.figures;
    missed_ = {replicas, replication, trial.requests};
    return nullptr;
  }

  // The smallest number of replicas, at least `from`, that meets the targets in a replication; none: not even the most.
  std::optional<int> smallest(int from, int replication) {
    int low = from - 1, high = from;  // low does not suffice
    while (high <= most_ && at(high, replication) == nullptr) {
      low = high;
      high = high == most_ ? most_ + 1 : std::min(2 * high, most_);
    }
    while (high <= most_ && high - low > 1) {
      const int middle = low + (high - low) / 2;
      (at(middle, replication) != nullptr ? high : low) = middle;
    }
    return high <= most_ ? std::optional(high) : std::nullopt;
  }

  // The replications, from the one whose fleet comes nearest to a target on; all must meet them.
  std::vector<int> nearest_first(int replicas, int replications) const {
    std::vector<int> order(static_cast<std::size_t>(replications));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return runs_.at({replicas, a}).nearness > runs_.at({replicas, b}).nearness;
    });
    return order;
  }

  // What the last fleet that missed a target missed, as text; "" if none did. Servers have `each` devices.
  std::string last_miss(int each) {
    if (!missed_) return "";
    const auto [replicas, replication, requests] = *missed_;
    point_.fleet.replicas = replicas;
    const std::int64_t asked = std::exchange(point_.workload.requests, requests);
    const ServingRun whole = point_.run(seed_of_replication(seed_, replication), targets_);
    point_.workload.requests = asked;
    const int prompts = point_.fleet.prefill_replicas;
    const std::string why = missed(whole, point_.limits, targets_);
    // What happens until the first token is the prefill servers' doing, however many others decode.
    const bool by_prompts = prompts > 0 && (whole.by_prompts || why.starts_with("ttft"));
    return "; with " + std::to_string((replicas + prompts) * each) +
           (prompts > 0 ? ", " + std::to_string(prompts * each) + " of them for prompts, " : ", ") + why +
           (by_prompts ? ": it takes more \"prefill_replicas\"" : "");
  }

 private:
  struct Trial {
    std::optional<FleetRun> figures;  // none: it misses a target
    std::int64_t requests = 0;
    double nearness = 0;  // to the targets: the largest share of a limit
  };
  struct Miss {
    int replicas, replication;
    std::int64_t requests;
  };

  Trial run(int replicas, int replication) {
    point_.fleet.replicas = replicas;
    const LastingRun r = lasting_run(point_, seed_of_replication(seed_, replication), targets_);
    if (!r.meets) return {std::nullopt, r.requests, 1};
    double nearness = 0;
    for (const LatencyTargets::Target& t : targets_.targets)
      nearness = std::max(nearness, r.run.figures.value_of(t) / t.limit);
    const ServingFigures& f = r.run.figures;
    const double output = static_cast<double>(f.output_tokens) / static_cast<double>(f.requests);
    return {FleetRun{{output * mean_rate(point_.workload)}, f.ttft.quantile(0.99), f.tpot.quantile(0.99), f.e2e.mean()},
            r.requests, nearness};
  }

  ServingPoint& point_;
  const LatencyTargets& targets_;
  const std::uint64_t seed_;
  const int most_;
  std::map<std::pair<int, int>, Trial> runs_;  // by replicas and replication
  std::optional<Miss> missed_;
};

struct Capacity {
  PerSecond rate;
  bool at_least;  // the requests were too few to say what misses
};
// The largest load that the fleet serves within the targets in every replication, by replica. All bear the workload.
// `replications`: that which will bear least comes first, as the others then need to be tried once.
Capacity capacity_of(ServingPoint& point, std::uint64_t seed, const std::vector<int>& replications,
                     const LatencyTargets& targets) {
  constexpr double kPrecise = 1.02;  // the ratio of the bounds at the end
  const Workload whole = point.workload;
  const double rate = mean_rate(whole);
  const int replicas = point.fleet.replicas;
  double highest_served = rate;
  std::optional<double> lowest_missed;
  bool at_least = false;
  const auto serves = [&](double r, int replication) {
    point.workload = at_rate(whole, r / rate);
    const LastingRun run = lasting_run(point, seed_of_replication(seed, replication), targets);
    if (run.meets && run.lasts) return true;
    at_least = run.meets;
    return false;
  };
  for (const int replication : replications) {
    const auto narrow = [&](double r) {
      if (serves(r, replication)) highest_served = r;
      else lowest_missed = r;
    };
    if (!lowest_missed) {
      // One replica less misses the workload, so that the bound is near where there are many.
      const double step = replicas == 1 ? 2 : std::max(kPrecise, replicas / (replicas - 1.0));
      while (!lowest_missed) narrow(step * highest_served);
    } else if (!serves(highest_served, replication)) {
      lowest_missed = std::exchange(highest_served, rate);
      // Replications bear much the same, so that the bound is near: steps begin small, and each is its square.
      for (double step = kPrecise; *lowest_missed > step * highest_served; step *= step) narrow(*lowest_missed / step);
    }
    while (*lowest_missed / highest_served > kPrecise) narrow(std::sqrt(highest_served * *lowest_missed));
  }
  point.workload = whole;
  return {{highest_served / replicas}, at_least};
}

// The replicas, from `enough` to twice as many, that meet the targets in a replication if all steps take `slower` times
// as long. By a clock that is as much slower, steps are as predicted, more requests come, and targets are tighter.
std::optional<int> replicas_if_slower(double slower, int enough, ServingPoint& point, LatencyTargets targets,
                                      std::uint64_t seed, int replication) {
  const Workload whole = std::exchange(point.workload, at_rate(point.workload, slower));
  for (LatencyTargets::Target& t : targets.targets) t.limit = t.limit / slower;
  const auto needed = Trials(point, targets, seed, 2 * enough).smallest(enough, replication);
  point.workload = whole;
  return needed;
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
    if (const std::string why = missed(run, point->limits, targets); !why.empty()) {
      option.obstacle = run.figures.refused > 0 ? why : "even without load " + why;
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
  const std::optional<int> first = trials.smallest(1, 0);
  std::optional<int> enough = first;
  for (int met = 0; enough && met < replications;) {
    if (trials.at(*enough, met) != nullptr) ++met;
    else enough = trials.smallest(*enough + 1, met), met = 0;
  }
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
  const Capacity capacity = capacity_of(*point, seed, nearest, targets);
  option.capacity = capacity.rate;
  option.capacity_at_least = capacity.at_least;
  const double in_flight = (option.load * mean_e2e(option)) / option.replicas;
  option.slowest_step = sweep.slowest_step(option.point, point->setup,
                                           std::clamp(static_cast<int>(in_flight), 1, point->limits.max_num_seqs));
  if (option.slowest_step)
    option.replicas_if_slowest =
        replicas_if_slower(*option.slowest_step, option.replicas, *point, targets, seed, nearest.front());
  return option;
}

Seconds mean_e2e(const FleetOption& o) {
  return {estimate(o.runs, [](const FleetRun& run) { return run.e2e_mean.value; }).value};
}

bool dominated(const FleetOption& o, std::span<const FleetOption> all) {
  const Seconds slow = mean_e2e(o);
  return std::any_of(all.begin(), all.end(), [&](const FleetOption& x) {
    if (!x.obstacle.empty() || x.is_bound || x.cost > o.cost) return false;
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
