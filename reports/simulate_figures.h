// SPDX-License-Identifier: Apache-2.0
// The figures of `simulate` (docs/reference/output.md): latencies of requests, throughput, and utilisation of servers.
// Figures are means over all replications, with 95 % intervals if there are several; counts are of the first
// replication.
#pragma once
#include "reports/figure.h"
#include "sim/serving.h"

namespace draftline {

inline bool has_targets(const Scenario& s) { return !s.serving->targets.targets.empty(); }
inline bool has_prices(const Scenario& s) { return !s.serving->prices.per_hour.empty(); }

// A warning about a load that overloads the servers; "" for any other load.
std::string overload_text(const ServingResult&);

// A mean latency or the throughput, and its values over the 90 % interval of the steps.
struct OverSteps {
  std::string_view name, unit;  // "" for the unit of tokens/s
  double value;
  Interval interval;
};
std::vector<OverSteps> means_over_steps(const ServingOutcome&);  // empty without an interval

// These means as a sentence; "" without an interval.
std::string interval_text(const ServingOutcome&);

// `targets`: those of the scenario, for the member "targets".
Figures<ServingOutcome> simulate_figures(const LatencyTargets& targets = {});

// Wall times, which differ from run to run and are written only with --timing.
const Figures<ServingRun>& timing_figures();

}  // namespace draftline
