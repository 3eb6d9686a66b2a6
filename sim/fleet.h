// SPDX-License-Identifier: Apache-2.0
// Servers behind a router, and one run of a workload on them.
#pragma once
#include <functional>
#include <tuple>

#include "sim/server.h"

namespace draftline {

struct ServingRun {
  ServingFigures figures;
  Seconds wall_time = {};     // that the event loop took here, prices apart
  Seconds pricing_time = {};  // that prices took which were not known yet
  bool diverges = false;      // the queue grew until the last arrival: latencies depend on how long one looks

  static auto members(auto& s) { return std::tie(s.figures, s.wall_time, s.pricing_time, s.diverges); }
};

// Which requests of a run no server could take, as a sentence; "": none.
std::string refusals(const ServingFigures&, const SchedulerLimits&);

class Fleet {
 public:
  Fleet(const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&);
  // One run; `progress` receives the number of requests that have arrived. A request that no KV pool holds is refused
  // and counted if its lengths are drawn; InputErrors if they are recorded or fixed, and if no request is left.
  ServingRun run(const Workload&, std::uint64_t seed, const LatencyTargets&, ServingObserver* = nullptr,
                 const std::function<void(std::int64_t)>& progress = {});

 private:
  struct Backlog;
  const FleetShape shape_;
  const SchedulerLimits limits_;
  const Drafting drafting_;
  StepCost& cost_;
};

}  // namespace draftline
