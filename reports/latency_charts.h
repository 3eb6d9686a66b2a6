// SPDX-License-Identifier: Apache-2.0
// The distributions of TTFT, TPOT and end-to-end latency of simulated requests: the share of requests below each time,
// with the latency targets.
#pragma once
#include <array>
#include <string>

#include "inputs/serving_limits.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"
#include "sim/serving_figures.h"

namespace draftline {

class LatencyCharts {
 public:
  explicit LatencyCharts(const LatencyTargets&);
  // `setup`: what the chart's runs have in common; `series`: the name of this one.
  void add(const std::string& setup, const std::string& series, const ServingFigures&);
  void show_on(Page&) const;

 private:
  std::array<ChartSet, 3> charts_;
};

}  // namespace draftline
