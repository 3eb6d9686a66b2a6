// SPDX-License-Identifier: Apache-2.0
// The serving part of a scenario (docs/simulator.md): workload, scheduler, fleet and latency targets.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "inputs/draft_policy.h"
#include "inputs/serving_limits.h"
#include "inputs/workload.h"
#include "model/device.h"
#include "model/host_time.h"
#include "model/memory.h"

namespace draftline {

// One choice of each list in "workload", "scheduler", "policy", "replicas", "pipeline_parallel", "disaggregation" and
// "routing".
struct ServingChoice {
  Workload workload;
  SchedulerLimits limits;  // without kv_blocks and the times of copies, which depend on the device
  bool says_seqs = false, says_tokens = false, says_batching = false;  // what of the limits isn't the engine's
  double gpu_memory_utilization =
      kGpuMemoryUtilization;              // share of device memory for weights, activations and KV blocks, 0 to 1
  std::optional<std::int64_t> kv_blocks;  // none: as many as fit in device memory
  BytesPerSecond host_link;               // for swapping
  FleetShape fleet;                       // without the times of transfers
  Seconds transfer_fixed;                 // latency of a transfer of keys and values between servers
  BytesPerSecond transfer_rate;
  DraftPolicy policy;
  std::vector<std::string> varying;  // the chosen value of each of Serving::axes, as text for tables
};

struct Serving {
  std::vector<std::string> axes;       // keys of the lists
  std::vector<ServingChoice> choices;  // the product of the lists
  LatencyTargets targets;
  int replications = 1;                  // simulations of each point, with different seeds
  std::map<std::string, double> prices;  // per device and hour, by the device's name
};

// The limits of a server: the engine's own, on that card, where the scenario is silent.
SchedulerLimits limits_on(const ServingChoice&, const Engine&, const Device&, bool speculating);

// `gpu_memory_utilization`: of schedulers that say none. Mistakes are noted at the reader.
Serving read_serving(const Reader& scenario, double gpu_memory_utilization, Catalogue&);

}  // namespace draftline
