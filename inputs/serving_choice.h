// SPDX-License-Identifier: Apache-2.0
// The serving part of a scenario (docs/simulator.md): what comes, who serves it, what is promised.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "inputs/draft_policy.h"
#include "inputs/serving_limits.h"
#include "inputs/workload.h"

namespace draftline {

// One choice of each list below "workload", "scheduler", "policy" and what stands beside them.
struct ServingChoice {
  Workload workload;
  SchedulerLimits limits;               // kv_blocks: of the device's memory, unless given
  double gpu_memory_utilization = 0.9;  // share of the device, that weights, activations and KV blocks may take
  std::optional<std::int64_t> kv_blocks;
  BytesPerSecond host_link;  // for swapping
  FleetShape fleet;          // its stages: pipeline_parallel
  Seconds transfer_fixed;    // of keys and values between servers
  BytesPerSecond transfer_rate;
  DraftPolicy policy;
  std::vector<std::string> varying;  // its value on each of Serving::axes, for tables
};

struct Serving {
  std::vector<std::string> axes;  // names of the lists
  std::vector<ServingChoice> choices;
  LatencyTargets targets;
  int replications = 1;
  std::map<std::string, double> prices;  // per hour, by the device's name
};

Serving read_serving(const Reader& scenario, Catalogue&);

}  // namespace draftline
