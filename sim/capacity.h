// SPDX-License-Identifier: Apache-2.0
// How many servers a workload needs so that its latency targets are met, and how much load one of them bears.
#pragma once
#include <optional>
#include <string>
#include <tuple>

#include "sim/serving.h"

namespace draftline {

struct FleetOption {
  Point point;
  std::string obstacle;  // why no number of replicas will do; "": these will
  int replicas = 0, devices = 0;
  double cost = 0;                // per hour; without prices: devices
  PerSecond capacity;             // requests that one replica bears within the targets
  std::optional<ServingRun> run;  // of the whole workload on those replicas

  static auto members(auto& s) {
    return std::tie(s.point, s.obstacle, s.replicas, s.devices, s.cost, s.capacity, s.run);
  }
};

struct Prices {
  std::map<std::string, double> per_hour;  // of a device, by name; empty: unknown, a device costs 1
  double of(const Device& d) const { return per_hour.empty() ? 1 : per_hour.at(d.name); }
};

// InputErrors unless the scenario has latency targets, arrivals with a rate, and the price of every device or of none.
void check_plannable(const Scenario&);

// The smallest fleet of this point that meets the scenario's targets; at most so many devices.
FleetOption smallest_fleet(ServingSweep&, std::size_t index, const Prices&, int most_devices, std::uint64_t seed);

// Is there an option that is no dearer and no slower (mean end to end), and in one of both better?
bool dominated(const FleetOption&, std::span<const FleetOption> all);

}  // namespace draftline
