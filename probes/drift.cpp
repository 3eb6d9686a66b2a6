// SPDX-License-Identifier: Apache-2.0
#include "probes/drift.h"

#include <algorithm>

#include "model/fit_quality.h"

namespace draftline {

namespace {

double reuse_distance(const MeasuredPoint& p) { return 4.0 * p.at("in") * p.at("out") * p.at("copies"); }

// GEMMs of one row, which are bound by reading their weights, whose reuse distance lies between two limits; the fastest
// first.
std::vector<MeasuredPoint> products_of(const Measured& m, double beyond, double within) {
  constexpr std::size_t kMost = 6;
  std::vector<MeasuredPoint> all;
  for (const MeasuredPoint& p : m.points)
    if (p.op == "gemm" && p.skipped.empty() && p.at("rows") == 1 && p.at("pause_us", 0) == 0 &&
        reuse_distance(p) > beyond && reuse_distance(p) <= within)
      all.push_back(p);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.median < b.median; });
  all.resize(std::min(all.size(), kMost));
  return all;
}

}  // namespace

std::vector<Drift> drift_since(const Measured& m, Seconds time_budget, ClockReference& reference) {
  constexpr double kOwnShare = 0.7;  // of the LLC: co-runners have the rest
  const double l2 = m.of_machine("l2_cache"), llc = m.of_machine("last_level_cache"), memory = m.of_machine("memory");
  std::vector<Drift> all;
  const auto add = [&](const char* kind, double beyond, double within) {
    std::vector<double> ratios;
    for (const MeasuredPoint& then : products_of(m, beyond, within)) {
      const MeasuredPoint now = probe_cpu(then, time_budget, reference);
      if (now.skipped.empty()) ratios.push_back(now.median / then.median);
    }
    if (!ratios.empty()) all.push_back({kind, static_cast<int>(ratios.size()), quantile(ratios, 0.5)});
  };
  add("L2", 0, l2);
  add("LLC", 2 * l2, kOwnShare * llc);
  add("memory", llc, memory);
  return all;
}

}  // namespace draftline
