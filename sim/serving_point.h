// SPDX-License-Identifier: Apache-2.0
// One point of a serving scenario, ready to be simulated with any seed, load and fleet.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "predict/setup.h"
#include "sim/fleet.h"
#include "sim/shared_runs.h"
#include "sim/steady_run.h"

namespace draftline {

class StepTable;

// The step times of a method on one device. They do not depend on the workload, the scheduler or the number of
// replicas. Points also share the runs.
struct MethodPrices {
  std::vector<std::unique_ptr<MethodChoice>> by_drafts;  // by draft length; null: the method can't draft that many
  std::unique_ptr<StepTable> table;
  SharedRuns<ServingRun> unloaded{8};  // histograms are large
  SharedRuns<SteadyRun> steady{512};
  ~MethodPrices();
};

// One point that is ready to be simulated. The workload and the fleet may be changed between runs; known step times are
// reused.
struct ServingPoint {
  ServingPoint() = default;
  ServingPoint(const ServingPoint&) = delete;  // `drafting` refers to its own outcomes and confidence
  Setup setup;
  Workload workload;
  SchedulerLimits limits;
  FleetShape fleet;
  Drafting drafting;
  ServingObserver* watcher = nullptr;  // of runs without an observer of their own
  ServingRun run(std::uint64_t seed, const LatencyTargets&, ServingObserver* = nullptr,
                 const std::function<void(std::int64_t)>& progress = {});        // see Fleet::run()
  ServingRun run_while_targets_hold(std::uint64_t seed, const LatencyTargets&);  // see Fleet
  // A run of one request at a time on one replica. Points may share the run; it is valid until the next run without
  // load.
  const ServingRun& run_without_load(std::uint64_t seed, const LatencyTargets&);
  RunInputs run_inputs(std::uint64_t seed, const LatencyTargets&) const;  // for a run with this workload and fleet

  DraftOutcomes outcomes;                     // the target of drafting.outcomes
  std::optional<DraftConfidence> confidence;  // the target of drafting.confidence
  std::shared_ptr<MethodPrices> prices;
  struct PrefillServers {
    SchedulerLimits limits;
    std::shared_ptr<MethodPrices> prices;
    int devices = 1;  // of each
  };
  std::optional<PrefillServers> prefill;  // none: like the servers that decode
  std::optional<int> state_seats;         // sequences that a pool of recurrent states holds; none: there is no pool
  std::vector<std::string> choice;        // for RunInputs

 private:
  Fleet fleet_of(const FleetShape&) const;
};

// Requests in flight in the steady state, by Little's law: rate x mean end-to-end latency. 0 for a closed loop.
double requests_in_flight(const Workload&, const ServingRun&);
// The most requests to which a simulation is extended, unless the workload has more.
constexpr std::int64_t kMostRequests = 1 << 18;
// The number of requests with which a simulation is repeated: the larger of four times the present number and `enough`,
// at most kMostRequests.
std::int64_t more_requests(const Workload&, double enough = 0);
// Whether the workload has at least four times the requests in flight. With fewer, arrivals end before the servers
// reach the steady state.
bool fills_servers(const Workload&, const ServingRun&);

}  // namespace draftline
