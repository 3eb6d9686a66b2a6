// SPDX-License-Identifier: Apache-2.0
// Runs of a whole workload on fleets of several sizes, to find those that meet latency targets.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving.h"

namespace draftline {

// Runs each replication of the workload on each fleet of one point at most once.
class Trials {
 public:
  // Trials of fleets of at most `most` replicas, under `load` times the workload's rate. The point and the targets must
  // outlive the trials.
  Trials(ServingPoint& point, const LatencyTargets& targets, std::uint64_t seed, int most, double load = 1)
      : point_(point), targets_(targets), seed_(seed), most_(most), load_(load) {}

  // The result of a replication on `replicas` replicas; null if they miss a target. Valid as long as the trials.
  const FleetRun* at(int replicas, int replication);
  // The smallest number of replicas, at least `from`, that meets the targets in a replication; none: even `most`
  // replicas do not.
  std::optional<int> smallest(int from, int replication);
  // The smallest number of replicas, at least `from`, that meets the targets in replications 0 to `replications` - 1;
  // none: even `most` replicas do not.
  std::optional<int> smallest_in_all(int from, int replications);
  double margin(int replicas, int replication) const;  // of a replication that meets the targets
  // The replications in ascending order of their margin; all must meet the targets.
  std::vector<int> nearest_first(int replicas, int replications) const;
  // What the last fleet missed that was too small; `each`: devices per server.
  struct Miss {
    std::string text;  // "; with 4, tpot_p95 43.7 ms > 40.0 ms (9 % over)"; "" if no fleet was too small
    std::vector<MissedTarget> targets;
  };
  Miss last_miss(int each);

 private:
  struct TooSmall {
    int replicas, replication;
    std::int64_t requests;
  };
  ServingPoint& point_;
  const LatencyTargets& targets_;
  const std::uint64_t seed_;
  const int most_;
  const double load_;
  std::map<std::pair<int, int>, SteadyRun> runs_;  // by replicas and replication
  std::optional<TooSmall> missed_;
};

}  // namespace draftline
