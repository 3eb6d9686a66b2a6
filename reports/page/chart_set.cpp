// SPDX-License-Identifier: Apache-2.0
#include "reports/page/chart_set.h"

#include <algorithm>

namespace draftline {

static constexpr std::size_t kMostCharts = 12, kMostSeries = 24;  // 24 can be told apart: eight colours, three dashes

ChartSet::ChartSet(Chart common) : common_(std::move(common)) {}

void ChartSet::add(const std::string& subtitle, const std::string& series, ChartPoint point, bool joined) {
  const std::string title = common_.title + (subtitle.empty() ? "" : ": " + subtitle);
  auto chart = std::ranges::find_if(charts_, [&](const Chart& c) { return c.title == title; });
  if (chart == charts_.end()) {
    too_many_charts_ |= charts_.size() == kMostCharts;
    if (charts_.size() == kMostCharts) return;
    chart = charts_.insert(charts_.end(), common_);
    chart->title = title;
  }
  auto one = std::ranges::find_if(chart->series, [&](const Series& s) { return s.name == series; });
  if (one == chart->series.end()) {
    too_many_series_ |= chart->series.size() == kMostSeries;
    if (chart->series.size() == kMostSeries) return;
    one = chart->series.insert(chart->series.end(), {series, {}, joined});
  }
  one->points.push_back(std::move(point));
}

std::vector<Chart> ChartSet::charts(bool by_x) const {
  std::vector<Chart> all = charts_;
  if (by_x)
    for (Chart& c : all)
      for (Series& s : c.series)
        std::ranges::stable_sort(s.points, [](const auto& a, const auto& b) { return a.x < b.x; });
  return all;
}

std::string ChartSet::left_out() const {
  std::string text;
  if (too_many_charts_) text = "Only the first " + std::to_string(kMostCharts) + " setups are drawn";
  if (too_many_series_)
    text += (text.empty() ? "Only the first " : ", and the first ") + std::to_string(kMostSeries) +
            " curves of a chart" + (text.empty() ? " are drawn" : "");
  return text.empty() ? "" : text + "; the table has all.";
}

}  // namespace draftline
