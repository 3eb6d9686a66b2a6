// SPDX-License-Identifier: Apache-2.0
#include "sim/steady_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/serving.h"

namespace draftline {

std::vector<MissedTarget> missed_targets(const ServingRun& r, const LatencyTargets& targets) {
  std::vector<MissedTarget> missed;
  for (const LatencyTargets::Target& t : targets.targets)
    if (r.figures.refused > 0 || !r.figures.meets(t)) missed.push_back({t.name, r.figures.value_of(t), t.limit});
  return missed;
}

std::optional<std::string> shortfall(const ServingRun& r, const SchedulerLimits& limits,
                                     const LatencyTargets& targets) {
  if (r.figures.refused > 0) return refusals(r.figures, limits);
  std::string text;
  for (const MissedTarget& m : missed_targets(r, targets)) {
    const auto percent = std::llround(100 * m.excess());
    text += (text.empty() ? "" : ", ") + m.name + " " + to_text(m.value) + " > " + to_text(m.limit);
    text += percent == 0 ? " (less than 1 % over)" : " (" + std::to_string(percent) + " % over)";
  }
  if (text.empty() && r.diverges) return "the queue grows";
  return text.empty() ? std::nullopt : std::optional(text);
}

double margin_of(const ServingRun& r, const LatencyTargets& targets) {
  double least = std::numeric_limits<double>::infinity();
  for (const LatencyTargets::Target& t : targets.targets) least = std::min(least, t.limit / r.figures.value_of(t));
  return least;
}

static FleetRun figures_of(const ServingFigures& f, double rate, const LatencyTargets& targets) {
  const double output = to_double(f.output_tokens) / to_double(f.requests);
  const auto latency = [](const Histogram& h) {
    return FleetRun::Latency{h.mean(), h.quantile(0.5), h.quantile(0.9), h.quantile(0.95), h.quantile(0.99)};
  };
  FleetRun out{{output * rate}, latency(f.ttft), latency(f.tpot), latency(f.e2e), {}};
  for (const LatencyTargets::Target& t : targets.targets) out.limited.push_back(f.value_of(t));
  return out;
}

// The slower requests that a run needs beyond the highest limited percentile. With fewer, chance decides its value.
constexpr double kSlower = 20;

static const LatencyTargets::Target& highest_percentile(const LatencyTargets& targets) {
  return *std::ranges::max_element(targets.targets, {}, &LatencyTargets::Target::share);
}

// The requests of which kSlower are slower than the highest limited percentile.
static double enough_for_percentiles(const Workload& w, const LatencyTargets& targets) {
  if (targets.targets.empty() || highest_percentile(targets).share == 0) return 0;
  return to_double(w.warm_up) + std::round(kSlower / (1 - highest_percentile(targets).share));
}

std::optional<std::string> few_for_percentiles(const Workload& w, const LatencyTargets& targets) {
  const double most = to_double(is_recorded(w) ? w.requests : std::max(w.requests, kMostRequests));
  if (most >= enough_for_percentiles(w, targets)) return std::nullopt;
  const LatencyTargets::Target& highest = highest_percentile(targets);
  return "of " + std::to_string(to_int64(most) - w.warm_up) + " requests fewer than " +
         std::to_string(std::lround(kSlower)) + " are slower than " + highest.name + ": its value depends on chance";
}

// The requests that a run needs for figures of the steady state. In fewer, the time in which servers fill weighs
// too much, and so do the few bursts and the few slow requests that it happens to have.
static double enough_requests(const Workload& w, const ServingRun& run, const LatencyTargets& targets) {
  constexpr double kFills = 8, kBursts = 20;
  const ArrivalProcess& a = w.arrivals;
  const double variance = a.kind == ArrivalProcess::Kind::gamma ? std::max(1.0, a.cv * a.cv) : 1;
  const double bursts = a.kind == ArrivalProcess::Kind::on_off ? kBursts * (a.on + a.off) * mean_rate(w) : 0;
  return std::min<double>(kMostRequests, std::max({kFills * variance * requests_in_flight(w, run), bursts,
                                                   enough_for_percentiles(w, targets)}));
}

static SteadyRun simulate(ServingPoint& point, std::uint64_t seed, const LatencyTargets& targets) {
  Workload& workload = point.workload;
  const std::int64_t asked = workload.requests;
  SteadyRun out;
  for (bool settled = false; !settled;) {
    const ServingRun run = point.run_while_targets_hold(seed, targets);
    const bool meets = !run.cut_short && !shortfall(run, point.limits, targets);
    out.requests = workload.requests;
    out.steady = fills_servers(workload, run);
    out.demand.add(run.demand);
    const double enough = enough_requests(workload, run, targets), simulated = to_double(workload.requests);
    settled = !meets || (simulated >= enough && !run.unsettled && !run.fills) || is_recorded(workload) ||
              workload.requests >= kMostRequests;
    if (settled) {
      if (meets) out.figures = figures_of(run.figures, mean_rate(workload), targets);
      if (!run.cut_short && !run.diverges) out.margin = margin_of(run, targets);
    } else if (simulated < enough) {  // by a part more, as latencies and so the requests in flight grow
      workload.requests = to_int64(std::min<double>(kMostRequests, std::max(1.5 * simulated, 1.25 * enough)));
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
