// SPDX-License-Identifier: Apache-2.0
#include "reports/page/chart_set.h"

#include <algorithm>

namespace draftline {

static constexpr std::size_t kMostCharts = 12, kMostSeries = 24;  // 24 can be told apart: eight colours, three dashes

ChartSet::ChartSet(Chart common) : common_(std::move(common)) {}

void ChartSet::add(const std::string& subtitle, const std::string& series, ChartPoint point) {
  const std::string title = common_.title + (subtitle.empty() ? "" : ": " + subtitle);
  auto chart = std::find_if(charts_.begin(), charts_.end(), [&](const Chart& c) { return c.title == title; });
  if (chart == charts_.end()) {
    too_many_charts_ |= charts_.size() == kMostCharts;
    if (charts_.size() == kMostCharts) return;
    chart = charts_.insert(charts_.end(), common_);
    chart->title = title;
  }
  auto one =
      std::find_if(chart->series.begin(), chart->series.end(), [&](const Series& s) { return s.name == series; });
  if (one == chart->series.end()) {
    too_many_series_ |= chart->series.size() == kMostSeries;
    if (chart->series.size() == kMostSeries) return;
    one = chart->series.insert(chart->series.end(), {series, {}});
  }
  one->points.push_back(std::move(point));
}

std::string ChartSet::left_out() const {
  if (too_many_charts_)
    return "Only the first " + std::to_string(kMostCharts) + " setups are drawn; the table has all.";
  if (too_many_series_)
    return "Only the first " + std::to_string(kMostSeries) + " methods of a chart are drawn; the table has all.";
  return "";
}

}  // namespace draftline
