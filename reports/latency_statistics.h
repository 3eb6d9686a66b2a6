// SPDX-License-Identifier: Apache-2.0
// The statistics of latencies that `simulate` and `plan` show: the mean, p50, p90, p95 and p99, and what targets name.
#pragma once
#include <string>
#include <vector>

#include "inputs/serving_limits.h"

namespace draftline {

struct LatencyStatistic {
  std::string name;             // "p95"
  double share;                 // 0.95; 0: the mean
  bool limited = false;         // a target limits it
  std::string meaning() const;  // "95th percentile"
};

// Of the requests' TTFT, TPOT or end-to-end latency, in ascending order.
std::vector<LatencyStatistic> statistics_of(LatencyTargets::Target::Of, const LatencyTargets&);
std::vector<LatencyStatistic> usual_statistics();  // of latencies that no target limits

}  // namespace draftline
