// SPDX-License-Identifier: Apache-2.0
// Capacity planning: the smallest number of replicas that meets a workload's latency targets, and the largest load that
// they serve within them.
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/trials.h"

namespace draftline {

// The smallest fleet that meets the targets in one replication.
struct ReplicationFleet {
  int replicas = 0;
  double cost = 0;
  Seconds e2e;  // mean
};

struct FleetOption {
  Point point;
  // Why no fleet meets the targets; then only `point`, `can_run`, `load` and `missed` are set.
  std::optional<std::string> obstacle;
  std::vector<MissedTarget> missed;  // by the largest fleet, or by a server without load
  bool can_run = true;               // whether a server can start: it fits its devices
  bool is_bound = false;             // its policy uses the future outcomes (the oracle): an upper bound for others
  int replicas = 0, devices = 0;     // the smallest fleet; devices include those of prefill servers and drafters
  int devices_of_replica = 0;
  std::optional<int> nodes;    // nodes of the devices, if they are bought in whole nodes
  double cost = 0;             // price per hour, of whole nodes; the number of devices if no prices are known
  double cost_with_spare = 0;  // with one more server of each kind (N + 1), so that one may be out of service
  PerSecond load;              // requests/s of the workload
  // The largest load per replica, requests/s, for which the fleet meets the targets in every replication, to 2 %.
  PerSecond capacity;
  bool capacity_at_least = false;  // the recording, or 262,144 requests, can't load the fleet more
  // The upper end of the 90 % interval of a step with the requests in flight, over its prediction; none: not known.
  std::optional<double> slowest_step;
  // The replicas that meet the targets if all steps are longer by this factor; none: even twice as many do not.
  std::optional<int> replicas_if_slowest;
  Caveats caveats;                      // of such a step
  std::vector<FleetRun> runs;           // the whole workload on this fleet, one run per replication
  std::vector<ReplicationFleet> alone;  // for each replication separately
  PerSecond fleet_capacity() const { return replicas * capacity; }
  // The additional load that the fleet can serve, as a share of the workload's.
  double headroom() const { return std::max(0.0, fleet_capacity() / load - 1); }
};
Seconds mean_e2e(const FleetOption&);  // mean end-to-end latency over the replications; at least one

// Throws InputErrors unless the scenario has latency targets, and some choice of its lists can be planned.
void check_plannable(const Scenario&);

// The smallest fleet, of at most `most_devices` devices, with which the scenario's point `index` meets the targets in
// every replication (three, unless the scenario gives their number), under its load and under 1 + `headroom` times its
// load, found by doubling and bisection over simulations. All options use the same seeds. If there is no such fleet,
// `obstacle` contains the reason.
FleetOption smallest_fleet(ServingSweep&, std::size_t index, const Prices&, int most_devices, std::uint64_t seed,
                           double headroom = 0);

// Whether another option, not a bound, is neither more expensive nor slower (mean end-to-end latency) and is better in
// at least one of these. The option must have runs.
bool dominated(const FleetOption&, std::span<const FleetOption> all);

// For each replication, the index of the option that it would recommend: the cheapest, then the fastest, not a bound.
// Empty if no option meets the targets.
std::vector<std::size_t> recommended_alone(std::span<const FleetOption> all);

}  // namespace draftline
