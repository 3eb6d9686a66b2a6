// SPDX-License-Identifier: Apache-2.0
// The serving part of a scenario (docs/explanation/simulator.md): workload, scheduler, fleet and latency targets.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "inputs/division.h"
#include "inputs/draft_policy.h"
#include "inputs/serving_limits.h"
#include "inputs/workload.h"
#include "model/devices/device.h"
#include "model/devices/memory.h"
#include "model/engines/engine.h"
#include "model/engines/speculation.h"

namespace draftline {

// One choice of each list in "workload", "scheduler", "policy", "replicas", "pipeline_parallel", "disaggregation" and
// "routing".
struct ServingChoice {
  Workload workload;
  SchedulerLimits limits;  // without kv_blocks and times of copies, which depend on the device
  bool says_seqs = false, says_tokens = false, says_batching = false;  // limits that the scenario gives
  // Share of device memory for weights, activations and KV blocks, 0 to 1.
  double gpu_memory_utilization = kGpuMemoryUtilization;
  std::optional<std::int64_t> kv_blocks;  // none: as many as fit in device memory
  BytesPerSecond host_link;               // for swapping
  FleetShape fleet;                       // without the times of transfers
  Seconds transfer_fixed;                 // latency of a transfer of keys and values between servers
  BytesPerSecond transfer_rate;
  std::optional<PrefillDivision> prefill;  // none: servers that compute prompts are like those that decode
  DraftPolicy policy;
  // The workload's own lengths as text for tables, "lognormal" ones for example; "": the scenario's.
  std::string prompt_lengths, output_lengths;
  std::vector<std::string> varying;  // the chosen value of each of Serving::axes, as text for tables
  std::size_t load = 0;              // index of the workload among the product of the lists in "workload"
};

// The prices of devices, by name.
struct Prices {
  std::map<std::string, double> per_hour;       // of each device; empty: every device costs 1
  std::map<std::string, int> devices_per_node;  // for devices that are bought in whole nodes
  std::optional<int> usual_devices_per_node;    // for other devices; none: bought individually
  double of(const std::string& device) const { return per_hour.empty() ? 1 : per_hour.at(device); }
  std::optional<int> node_of(const std::string& device) const;
};

struct Serving {
  std::vector<std::string> axes;       // keys of the lists
  std::size_t axes_of_workload = 0;    // the number of first axes that belong to "workload"
  std::vector<ServingChoice> choices;  // the product of the lists
  LatencyTargets targets;
  std::optional<int> replications;  // simulations per point, with different seeds; none: 1, or 3 for a plan
  Prices prices;
};

// The engine's default limits of a server on this card.
SchedulerLimits engine_limits(const Engine&, const Device&, Speculation);
SchedulerLimits limits_on(const ServingChoice&, const Engine&, const Device&, Speculation);

// `gpu_memory_utilization`: the default of schedulers without one. Mistakes are noted at the reader.
Serving read_serving(const Reader& scenario, double gpu_memory_utilization, Catalogue&);

}  // namespace draftline
