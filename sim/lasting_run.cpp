// SPDX-License-Identifier: Apache-2.0
#include "sim/lasting_run.h"

#include <algorithm>
#include <limits>

#include "sim/serving.h"

namespace draftline {

std::string missed(const ServingRun& r, const SchedulerLimits& limits, const LatencyTargets& targets) {
  if (r.figures.refused > 0) return refusals(r.figures, limits);
  for (const LatencyTargets::Target& t : targets.targets)
    if (!r.figures.meets(t)) return t.name + " " + to_text(r.figures.value_of(t)) + " > " + to_text(t.limit);
  return r.diverges ? "the queue grows" : "";
}

double margin_of(const ServingRun& r, const LatencyTargets& targets) {
  double least = std::numeric_limits<double>::infinity();
  for (const LatencyTargets::Target& t : targets.targets) least = std::min(least, t.limit / r.figures.value_of(t));
  return least;
}

static FleetRun figures_of(const ServingFigures& f, double rate) {
  const double output = static_cast<double>(f.output_tokens) / static_cast<double>(f.requests);
  return {{output * rate}, f.ttft.quantile(0.99), f.tpot.quantile(0.99), f.e2e.mean()};
}

static LastingRun simulate(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  constexpr double kFills = 8;
  Workload& workload = point.workload;
  const std::int64_t asked = workload.requests;
  LastingRun out;
  for (bool settled = false; !settled;) {
    const ServingRun run = point.run_while_targets_hold(seed, targets);
    const bool meets = !run.cut_short && missed(run, point.limits, targets).empty();
    out.requests = workload.requests;
    out.lasts = fills_servers(workload, run);
    out.demand.add(run.demand);
    settled = !meets || (out.lasts && !run.unsettled && !run.fills) || is_recorded(workload) ||
              workload.requests >= kMostRequests;
    if (settled) {
      if (meets) out.figures = figures_of(run.figures, mean_rate(workload));
      if (!run.cut_short && !run.diverges) out.margin = margin_of(run, targets);
    } else {
      workload.requests = more_requests(workload, out.lasts ? 0 : kFills * requests_in_flight(workload, run));
    }
  }
  workload.requests = asked;
  return out;
}

const LastingRun& lasting_run(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  return point.prices->lasting.of(point.run_inputs(seed, targets), [&] { return simulate(point, seed, targets); });
}

}  // namespace draftline
