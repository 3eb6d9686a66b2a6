// SPDX-License-Identifier: Apache-2.0
// A router with one or more servers behind it, and the simulation of a workload on them.
#pragma once
#include <functional>
#include <vector>

#include "sim/backlog.h"
#include "sim/demand.h"
#include "sim/server_pool.h"

namespace draftline {

struct ServingRun {
  ServingFigures figures;
  Seconds wall_time = {};     // wall time of the event loop on this machine, without pricing_time
  Seconds pricing_time = {};  // wall time of computing step prices that were not cached
  bool diverges = false;      // the queue grew to the last arrival: latencies depend on the run's length
  bool unsettled = false;     // the queue was longer than halfway, but not beyond chance
  bool by_prompts = false;    // the growing queue is that of the prefill servers
  bool fills = false;         // more requests were in flight at the last arrival than halfway, beyond chance
  double queue_growth = 0;    // growth of the queue per request that arrived in the second half; 0: no growth
  bool cut_short = false;     // run_while_targets_hold() ended the run early; figures cover only its beginning
  Demand demand = {};         // of its servers
};

// A sentence on the requests that were refused because they do not fit the KV pool.
std::optional<std::string> refusals(const ServingFigures&, const SchedulerLimits&);

class Fleet {
 public:
  Fleet(const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&);  // the costs must outlive the fleet
  // Servers that compute prompts have other limits and costs than those that decode.
  void set_prefillers(const SchedulerLimits&, StepCost&);
  // Simulates the whole workload. `progress` receives the number of requests that have arrived. A request that does not
  // fit the KV pool is refused and counted if its length is drawn from a distribution, and throws InputErrors if it is
  // fixed or recorded. Also throws InputErrors if all requests are refused, or beyond simulated time (core/clock).
  ServingRun run(const Workload&, std::uint64_t seed, const LatencyTargets&, ServingObserver* = nullptr,
                 const std::function<void(std::int64_t)>& progress = {});
  // Like run(), but ends as soon as a target is certain to be missed.
  ServingRun run_while_targets_hold(const Workload&, std::uint64_t seed, const LatencyTargets&,
                                    ServingObserver* = nullptr);

 private:
  enum class Until { end, sure_to_miss };
  ServingRun simulate(const Workload&, std::uint64_t seed, ServingFigures, Until,
                      const std::function<void(std::int64_t)>& progress);
  Backlog decode(std::vector<ServedRequest>& computed, ServerPool&) const;  // requests that prefill servers finished
  Ticks transfer_time(int prompt_tokens) const;  // of keys, values and states between disaggregated servers
  const FleetShape shape_;
  const SchedulerLimits limits_;
  SchedulerLimits prefill_limits_;
  const Drafting drafting_;
  StepCost& cost_;
  StepCost* prefill_cost_;
};

}  // namespace draftline
