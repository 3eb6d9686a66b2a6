// SPDX-License-Identifier: Apache-2.0
#include "measure/probe_schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace draftline::measure {

ProbeOrder spread(const std::vector<MeasuredPoint>& grid) {
  constexpr double kGolden = 0.6180339887498949;  // whose multiples are spread evenly, however many of them
  constexpr int kQuarter = 4, kLeast = 12;
  std::map<std::string, std::vector<const MeasuredPoint*>> by_op;
  for (const MeasuredPoint& p : grid) by_op[p.op].push_back(&p);
  struct Placed {
    bool later;
    double at;  // within its part of the order
    const MeasuredPoint* point;
  };
  std::vector<Placed> all;
  ProbeOrder order;
  for (const auto& [op, points] : by_op) {
    std::vector<std::pair<double, const MeasuredPoint*>> mixed;
    for (const MeasuredPoint* p : points) mixed.emplace_back(std::fmod(kGolden * count(mixed), 1.0), p);
    std::ranges::sort(mixed);
    const int first = std::min(std::max(count(points) / kQuarter, kLeast), count(points));
    for (int i = 0; i < count(mixed); ++i) {
      const bool later = i >= first;
      const int of = later ? count(mixed) - first : first, n = later ? i - first : i;
      all.push_back({later, (n + 0.5) / of, mixed[at(i)].second});
    }
    order.enough += first;
  }
  std::ranges::stable_sort(
      all, [](const Placed& a, const Placed& b) { return std::pair(a.later, a.at) < std::pair(b.later, b.at); });
  for (const Placed& p : all) order.points.push_back(*p.point);
  return order;
}

ProbeSchedule::ProbeSchedule(const Overhead& of, const std::vector<MeasuredPoint>& grid,
                             const std::vector<MeasuredPoint>& todo, Seconds whole) {
  constexpr double kLeastShare = 0.25;  // least share of the time that is for samples
  const double all = count(grid);
  const auto overhead = [&](const MeasuredPoint& p) { return of(p).value_or(whole * (0.5 / all)); };
  Seconds beside;
  for (const MeasuredPoint& p : grid) beside += overhead(p);
  time_budget_ = std::max(whole - beside, kLeastShare * whole) * (1 / all);
  adapts_ = !grid.empty() && of(grid.front());
  for (const MeasuredPoint& p : todo) overhead_.push_back(overhead(p));
  for (const Seconds o : overhead_) expected_ += o + time_budget_;
  left_ = expected_;
}

Seconds ProbeSchedule::time_budget_for(int point, Seconds elapsed) const {
  if (!adapts_) return time_budget_;
  constexpr double kLeastShare = 0.125;
  const Seconds beside = std::accumulate(overhead_.begin() + point, overhead_.end(), Seconds{});
  const Seconds share = (expected_ - elapsed - beside) * (1.0 / (count(overhead_) - point));
  return std::clamp(share, kLeastShare * time_budget_, time_budget_);
}

}  // namespace draftline::measure
