// SPDX-License-Identifier: Apache-2.0
#include "sim/steady_run.h"

#include <algorithm>
#include <limits>

#include "sim/serving.h"

namespace draftline {

std::optional<std::string> missed_target(const ServingRun& r, const SchedulerLimits& limits,
                                         const LatencyTargets& targets) {
  if (r.figures.refused > 0) return refusals(r.figures, limits);
  for (const LatencyTargets::Target& t : targets.targets)
    if (!r.figures.meets(t)) return t.name + " " + to_text(r.figures.value_of(t)) + " > " + to_text(t.limit);
  return r.diverges ? std::optional<std::string>("the queue grows") : std::nullopt;
}

double margin_of(const ServingRun& r, const LatencyTargets& targets) {
  double least = std::numeric_limits<double>::infinity();
  for (const LatencyTargets::Target& t : targets.targets) least = std::min(least, t.limit / r.figures.value_of(t));
  return least;
}

static FleetRun figures_of(const ServingFigures& f, double rate) {
  const double output = to_double(f.output_tokens) / to_double(f.requests);
  return {{output * rate}, f.ttft.quantile(0.99), f.tpot.quantile(0.99), f.e2e.mean()};
}

// The requests that a run needs for figures of the steady state. In fewer, the time in which servers fill weighs
// too much, and so do the few bursts that it happens to have.
static double enough_requests(const Workload& w, const ServingRun& run) {
  constexpr double kFills = 8, kBursts = 20;
  const ArrivalProcess& a = w.arrivals;
  const double variance = a.kind == ArrivalProcess::Kind::gamma ? std::max(1.0, a.cv * a.cv) : 1;
  const double bursts = a.kind == ArrivalProcess::Kind::on_off ? kBursts * (a.on + a.off) * mean_rate(w) : 0;
  return std::min<double>(kMostRequests, std::max(kFills * variance * requests_in_flight(w, run), bursts));
}

static SteadyRun simulate(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  Workload& workload = point.workload;
  const std::int64_t asked = workload.requests;
  SteadyRun out;
  for (bool settled = false; !settled;) {
    const ServingRun run = point.run_while_targets_hold(seed, targets);
    const bool meets = !run.cut_short && !missed_target(run, point.limits, targets);
    out.requests = workload.requests;
    out.steady = fills_servers(workload, run);
    out.demand.add(run.demand);
    const double enough = enough_requests(workload, run), simulated = to_double(workload.requests);
    settled = !meets || (simulated >= enough && !run.unsettled && !run.fills) || is_recorded(workload) ||
              workload.requests >= kMostRequests;
    if (settled) {
      if (meets) out.figures = figures_of(run.figures, mean_rate(workload));
      if (!run.cut_short && !run.diverges) out.margin = margin_of(run, targets);
    } else if (simulated < enough) {  // by a part more, as latencies and so the requests in flight grow
      workload.requests = to_int64(std::max(1.5 * simulated, 1.25 * enough));
    } else {
      workload.requests = more_requests(workload);
    }
  }
  workload.requests = asked;
  return out;
}

const SteadyRun& steady_run(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  return point.prices->steady.of(point.run_inputs(seed, targets), [&] { return simulate(point, seed, targets); });
}

}  // namespace draftline
