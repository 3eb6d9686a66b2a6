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
  // Trials of fleets of at most `most` replicas. The point and the targets must outlive the trials.
  Trials(ServingPoint& point, const LatencyTargets& targets, std::uint64_t seed, int most)
      : point_(point), targets_(targets), seed_(seed), most_(most) {}

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
  // The last target that a fleet missed, as text; "" if no fleet missed one. `each`: devices per server.
  std::string last_miss(int each);

 private:
  struct Miss {
    int replicas, replication;
    std::int64_t requests;
  };
  ServingPoint& point_;
  const LatencyTargets& targets_;
  const std::uint64_t seed_;
  const int most_;
  std::map<std::pair<int, int>, SteadyRun> runs_;  // by replicas and replication
  std::optional<Miss> missed_;
};

}  // namespace draftline
