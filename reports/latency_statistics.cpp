// SPDX-License-Identifier: Apache-2.0
#include "reports/latency_statistics.h"

#include <algorithm>

namespace draftline {

// "1st", "12th", "22nd", "93rd", "99.9th".
static std::string ordinal(const std::string& number) {
  const bool teens = number.size() == 2 && number[0] == '1', whole = number.find('.') == std::string::npos;
  const char last = number.back();
  if (teens || !whole || last < '1' || last > '3') return number + "th";
  return number + (last == '1' ? "st" : last == '2' ? "nd" : "rd");
}

std::string LatencyStatistic::meaning() const {
  if (share == 0) return "mean";
  return share == 0.5 ? "median" : ordinal(name.substr(1)) + " percentile";
}

std::vector<LatencyStatistic> usual_statistics() {
  return {{"mean", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
}

std::vector<LatencyStatistic> statistics_of(LatencyTargets::Target::Of of, const LatencyTargets& targets) {
  std::vector<LatencyStatistic> all = usual_statistics();
  for (const LatencyTargets::Target& t : targets.targets) {
    if (t.of != of) continue;
    const auto known = std::ranges::find(all, t.share, &LatencyStatistic::share);
    if (known != all.end()) known->limited = true;
    else all.push_back({t.name.substr(t.name.find('_') + 1), t.share, true});
  }
  std::ranges::sort(all, {}, &LatencyStatistic::share);
  return all;
}

}  // namespace draftline
