// SPDX-License-Identifier: Apache-2.0
#include "probes/drift.h"

#include <algorithm>

#include "model/fit_quality.h"

namespace draftline {

namespace {

double bytes_met(const MeasuredPoint& p) { return 4.0 * p.at("in") * p.at("out") * p.at("copies"); }

// A row alone is bound by its weights: those that lie between two limits, the quickest first.
std::vector<MeasuredPoint> products_of(const Measured& m, double beyond, double within) {
  constexpr std::size_t kMost = 6;
  std::vector<MeasuredPoint> all;
  for (const MeasuredPoint& p : m.points)
    if (p.op == "gemm" && p.skipped.empty() && p.at("rows") == 1 && p.at("pause_us", 0) == 0 && bytes_met(p) > beyond &&
        bytes_met(p) <= within)
      all.push_back(p);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.median < b.median; });
  all.resize(std::min(all.size(), kMost));
  return all;
}

}  // namespace

std::vector<Drift> drift_since(const Measured& m, Seconds time_budget, ClockReference& reference) {
  constexpr double kMostly = 0.7;  // of the last cache: others have the rest
  const double second = m.of_machine("l2_cache"), last = m.of_machine("last_level_cache"),
               memory = m.of_machine("memory");
  std::vector<Drift> all;
  const auto add = [&](const char* kind, double beyond, double within) {
    std::vector<double> ratios;
    for (const MeasuredPoint& then : products_of(m, beyond, within)) {
      const MeasuredPoint now = probe_cpu(then, time_budget, reference);
      if (now.skipped.empty()) ratios.push_back(now.median / then.median);
    }
    if (!ratios.empty()) all.push_back({kind, static_cast<int>(ratios.size()), quantile(ratios, 0.5)});
  };
  add("second cache", 0, second);
  add("last cache", 2 * second, kMostly * last);
  add("memory", last, memory);
  return all;
}

}  // namespace draftline
