// SPDX-License-Identifier: Apache-2.0
// Comparison of a run with latency targets, and runs long enough for figures of the steady state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "sim/fleet.h"

namespace draftline {

struct ServingPoint;

// The first target that a run misses, as text. A run with refused requests misses them.
std::optional<std::string> missed_target(const ServingRun&, const SchedulerLimits&, const LatencyTargets&);

// The least limit / value over the targets: 1 at the limit.
double margin_of(const ServingRun&, const LatencyTargets&);

// The figures of one run that are stored for a fleet. Histograms of a thousand options would need a gigabyte.
struct FleetRun {
  PerSecond throughput;  // output tokens/s of the load, which the fleet serves fully
  Seconds ttft_p99, tpot_p99, e2e_mean;
};

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
