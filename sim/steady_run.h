// SPDX-License-Identifier: Apache-2.0
// Whether a run meets latency targets, and runs that are long enough for figures of the steady state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "sim/fleet.h"

namespace draftline {

struct ServingPoint;

// The first target that a run misses, as text. A run with refused requests misses them.
std::optional<std::string> missed_target(const ServingRun&, const SchedulerLimits&, const LatencyTargets&);

// The least of limit / value over the targets: 1 at the limit.
double margin_of(const ServingRun&, const LatencyTargets&);

// The figures of one run that are kept for a fleet. Histograms of a thousand options would take a gigabyte.
struct FleetRun {
  PerSecond throughput;  // output tokens/s of the load, all of which a fleet that meets its targets serves
  Seconds ttft_p99, tpot_p99, e2e_mean;
};

// A run that is long enough for figures of the steady state: it is repeated with more requests if its arrivals end
// before the servers are full or while they still fill, or if it is not clear whether the queue grows. A recorded
// workload has no more.
struct SteadyRun {
  std::int64_t requests = 0;
  bool steady = false;              // the servers were full
  std::optional<FleetRun> figures;  // none: it misses a target
  std::optional<double> margin;     // of the targets; none: not known
  Demand demand;
  bool meets() const { return figures.has_value(); }
};
// Points may share the run; it is valid until the next one.
const SteadyRun& steady_run(ServingPoint&, std::uint64_t seed, const LatencyTargets&);

}  // namespace draftline
