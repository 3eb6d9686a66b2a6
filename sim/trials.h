// SPDX-License-Identifier: Apache-2.0
// Runs of a serving point that ask whether latency targets are met: of one load that lasts, and of the whole workload
// on fleets of several sizes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/serving.h"

namespace draftline {

// The first target that a run misses, as text; "" if it meets all. A run with refused requests misses them.
std::string missed(const ServingRun&, const SchedulerLimits&, const LatencyTargets&);

// The least of limit / value over the targets: 1 at the limit.
double margin_of(const ServingRun&, const LatencyTargets&);

// A run of a load that lasts: where arrivals end before the servers are full, while they still fill, or before it is
// clear whether the queue grows, it is repeated with more requests. A recording has no more.
struct LastingRun {
  ServingRun run;
  std::int64_t requests = 0;
  bool meets = false, lasts = false;
  std::optional<double> margin;  // of the targets; none: not known
};
LastingRun lasting_run(ServingPoint&, std::uint64_t seed, const LatencyTargets&);

// What one replication of the whole workload says of a fleet. Histograms of a thousand options would take a gigabyte.
struct FleetRun {
  PerSecond throughput;  // output tokens/s of the load, all of which a fleet that meets its targets serves
  Seconds ttft_p99, tpot_p99, e2e_mean;
};

// The whole workload on fleets of one point, each replication of each fleet at most once.
class Trials {
 public:
  // Of at most `most` replicas. The point and the targets must outlive the trials.
  Trials(ServingPoint& point, const LatencyTargets& targets, std::uint64_t seed, int most)
      : point_(point), targets_(targets), seed_(seed), most_(most) {}

  // What a replication says of so many replicas; null if they miss a target. Valid as long as the trials.
  const FleetRun* at(int replicas, int replication);
  // The smallest number of replicas, at least `from`, that meets the targets in a replication; none: not even the most.
  std::optional<int> smallest(int from, int replication);
  // The same for all replications from the first on.
  std::optional<int> smallest_in_all(int from, int replications);
  double margin(int replicas, int replication) const;  // of a replication that meets the targets
  // The replications, from the one whose fleet comes nearest to a target on; all must meet them.
  std::vector<int> nearest_first(int replicas, int replications) const;
  // What the last fleet that missed a target missed, as text; "" if none did. Servers have `each` devices.
  std::string last_miss(int each);

 private:
  struct Trial {
    std::optional<FleetRun> figures;  // none: it misses a target
    std::int64_t requests = 0;
    double margin = 0;
  };
  struct Miss {
    int replicas, replication;
    std::int64_t requests;
  };
  Trial run(int replicas, int replication);

  ServingPoint& point_;
  const LatencyTargets& targets_;
  const std::uint64_t seed_;
  const int most_;
  std::map<std::pair<int, int>, Trial> runs_;  // by replicas and replication
  std::optional<Miss> missed_;
};

}  // namespace draftline
