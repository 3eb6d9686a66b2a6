// SPDX-License-Identifier: Apache-2.0
// Capacity planning: the smallest number of replicas that meets a workload's latency targets, and the largest load that
// one replica serves within them.
#pragma once
#include <optional>
#include <string>
#include <tuple>

#include "sim/serving.h"

namespace draftline {

struct FleetOption {
  Point point;
  std::string obstacle;           // why no fleet meets the targets, then only `point` is set; "" if one does
  int replicas = 0, devices = 0;  // the smallest fleet; devices include those of prefill servers
  double cost = 0;                // price per hour; the number of devices if no prices are known
  PerSecond capacity;             // requests/s that one replica serves within the targets, to 2 %
  std::optional<ServingRun> run;  // the whole workload on that fleet

  static auto members(auto& s) {
    return std::tie(s.point, s.obstacle, s.replicas, s.devices, s.cost, s.capacity, s.run);
  }
};

struct Prices {
  std::map<std::string, double> per_hour;  // price of a device per hour, by its name; if empty, a device costs 1
  // The price of a device; check_plannable() ensures that it is known.
  double of(const Device& d) const { return per_hour.empty() ? 1 : per_hour.at(d.name); }
};

// Throws InputErrors unless the scenario has latency targets, arrivals with a rate, and prices of all devices or none.
void check_plannable(const Scenario&);

// The smallest fleet, of at most `most_devices` devices, with which the scenario's point `index` meets the targets, by
// doubling and bisection over simulations with this seed. If there is none, `obstacle` says why. Throws InputErrors if
// a simulation does (Fleet::run).
FleetOption smallest_fleet(ServingSweep&, std::size_t index, const Prices&, int most_devices, std::uint64_t seed);

// Whether another option is neither more expensive nor slower (mean end-to-end latency), and better in one of the two.
// The option itself must have a run.
bool dominated(const FleetOption&, std::span<const FleetOption> all);

}  // namespace draftline
