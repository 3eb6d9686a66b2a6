// SPDX-License-Identifier: Apache-2.0
// The charts of `draftline simulate --html`: latencies of each method over what varies in the workload, the load for
// example; or, if nothing does, against throughput.
#pragma once
#include <optional>
#include <string>
#include <vector>

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

 private:
  // A figure (reports/simulate_figures) by its path in JSON, over what varies.
  struct Drawn {
    std::string path;
    ChartSet charts;
  };
  void add_chart(const std::string& title, const std::string& what, const std::string& path);
  std::string series_of(const Point&) const;

  const Scenario& scenario_;
  std::optional<std::size_t> axis_;  // the first of Serving::axes whose values are different numbers
  PointInputs differing_;            // the inputs that differ between charts
  std::vector<Drawn> drawn_;
};

}  // namespace draftline
