// SPDX-License-Identifier: Apache-2.0
// Comparison of a run with latency targets, and runs long enough for figures of the steady state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fleet.h"

namespace draftline {

struct ServingPoint;

struct MissedTarget {
  std::string name;  // "tpot_p95"
  Seconds value, limit;
  double excess() const { return value / limit - 1; }
};
// The targets that a run misses: all of them, if requests were refused.
std::vector<MissedTarget> missed_targets(const ServingRun&, const LatencyTargets&);
// What a run misses, as text: its targets and by how much, refused requests, or a queue that grows. None: the run meets
// the targets.
std::optional<std::string> shortfall(const ServingRun&, const SchedulerLimits&, const LatencyTargets&);

// The least limit / value over the targets: 1 at the limit.
double margin_of(const ServingRun&, const LatencyTargets&);

// The figures of one run that are stored for a fleet. Histograms of a thousand options would need a gigabyte.
struct FleetRun {
  struct Latency {
    Seconds mean, p50, p90, p95, p99;
  };
  PerSecond throughput;  // output tokens/s of the load, which the fleet serves fully
  Latency ttft, tpot, e2e;
  std::vector<Seconds> limited;  // the figure that each latency target limits
};

// Why the highest limited percentile depends on chance, however long the runs are: a recording has too few requests, or
// runs are not extended so far. None: it does not.
std::optional<std::string> few_for_percentiles(const Workload&, const LatencyTargets&);

// A run long enough for figures of the steady state. It is repeated with more requests if its arrivals end before the
// servers are full or while they still fill, or if growth of the queue is uncertain. A recorded workload can't be
// extended.
struct SteadyRun {
  std::int64_t requests = 0;
  bool steady = false;              // the servers were full
  std::optional<FleetRun> figures;  // none: the run misses a target
  std::optional<double> margin;     // margin to the targets; none: not known
  Demand demand;
  bool meets() const { return figures.has_value(); }
};
// Points may share the run; it is valid until the next call.
const SteadyRun& steady_run(ServingPoint&, std::uint64_t seed, const LatencyTargets&);

}  // namespace draftline
