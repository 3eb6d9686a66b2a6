// SPDX-License-Identifier: Apache-2.0
// The charts of `draftline simulate --html`: latencies of each method over what varies in the workload, the load for
// example, or, if nothing does, against throughput; the distributions of latencies; and the load of a single point over
// time.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "reports/latency_charts.h"
#include "reports/load_history.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"
#include "reports/point.h"
#include "sim/serving.h"

namespace draftline {

class ServingCharts {
 public:
  explicit ServingCharts(const Scenario&);  // one with a workload, which must outlive the charts
  void add(const ServingOutcome&);
  void show_on(Page&) const;
  LoadHistory& history() { return history_; }  // of a single point, to be observed

 private:
  // A figure (reports/simulate_figures) by its path in JSON, over what varies.
  struct Drawn {
    std::string path;
    ChartSet charts;
  };
  using Target = LatencyTargets::Target;
  void add_latency(const std::string& title, const std::string& latency, Target::Of);
  void add_chart(const std::string& title, const std::string& what, const std::string& path,
                 const Target* limit = nullptr);
  std::string series_of(const Point&) const;
  std::string setup_of(const Point&) const;

  const Scenario& scenario_;
  std::optional<std::size_t> axis_;  // the first of Serving::axes whose values are different numbers
  PointInputs differing_;            // the inputs that differ between charts
  std::vector<Drawn> drawn_;
  LatencyCharts latencies_;
  LoadHistory history_;
};

}  // namespace draftline
