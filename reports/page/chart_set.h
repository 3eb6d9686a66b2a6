// SPDX-License-Identifier: Apache-2.0
// Charts with the same axes, one for each setup of a report.
#pragma once
#include <string>
#include <vector>

#include "reports/page/chart.h"

namespace draftline {

class ChartSet {
 public:
  explicit ChartSet(Chart common);  // titles, axes and lines of every chart
  // A point of a series of the chart with that subtitle. Charts and series keep the order in which they are named.
  void add(const std::string& subtitle, const std::string& series, ChartPoint, bool joined = true);
  std::vector<Chart> charts(bool by_x = true) const;  // with the points of each series in the order of x, or as added
  // A sentence on the results that are not drawn (beyond 12 charts, or 24 series in one); "" if all are.
  std::string left_out() const;

 private:
  Chart common_;
  std::vector<Chart> charts_;
  bool too_many_charts_ = false, too_many_series_ = false;
};

}  // namespace draftline
