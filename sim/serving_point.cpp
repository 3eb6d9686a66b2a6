// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_point.h"

#include "sim/step_table.h"

namespace draftline {

MethodPrices::~MethodPrices() = default;

Fleet ServingPoint::fleet_of(const FleetShape& shape) const {
  Fleet all(shape, limits, drafting, *prices->table);
  if (prefill) all.set_prefillers(prefill->limits, *prefill->prices->table);
  return all;
}

ServingRun ServingPoint::run(std::uint64_t seed, const LatencyTargets& targets, ServingObserver* observer,
                             const std::function<void(std::int64_t)>& progress) {
  return fleet_of(fleet).run(workload, seed, targets, observer != nullptr ? observer : watcher, progress);
}

ServingRun ServingPoint::run_while_targets_hold(std::uint64_t seed, const LatencyTargets& targets) {
  return fleet_of(fleet).run_while_targets_hold(workload, seed, targets, watcher);
}

const ServingRun& ServingPoint::run_without_load(std::uint64_t seed, const LatencyTargets& targets) {
  RunInputs inputs = run_inputs(seed, targets);
  inputs.rate = 0;
  inputs.fleet.replicas = 1;
  return prices->unloaded.of(inputs,
                             [&] { return fleet_of(inputs.fleet).run(one_by_one(workload), seed, targets, watcher); });
}

RunInputs ServingPoint::run_inputs(std::uint64_t seed, const LatencyTargets& targets) const {
  RunInputs inputs{.seed = seed,
                   .rate = mean_rate(workload),
                   .requests = workload.requests,
                   .fleet = fleet,
                   .limits = limits,
                   .targets = {},
                   .choice = choice,
                   .prompt_tokens = setup.prompt_tokens,
                   .output_tokens = setup.output_tokens};
  for (const LatencyTargets::Target& t : targets.targets) inputs.targets.push_back(t.limit);
  return inputs;
}

double requests_in_flight(const Workload& w, const ServingRun& r) { return mean_rate(w) * r.figures.e2e.mean().value; }

std::int64_t more_requests(const Workload& w, double enough) {
  const double wanted = std::max(4.0 * to_double(w.requests), enough);
  return wanted < kMostRequests ? to_int64(wanted) : std::max(w.requests, kMostRequests);
}

bool fills_servers(const Workload& w, const ServingRun& r) {
  constexpr double kFills = 4;
  return to_double(w.requests) >= kFills * requests_in_flight(w, r);
}

}  // namespace draftline
