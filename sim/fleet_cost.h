// SPDX-License-Identifier: Apache-2.0
// The cost of a fleet's devices, in whole nodes if "devices_per_node" is given.
#pragma once
#include <optional>
#include <string>

#include "inputs/scenario.h"

namespace draftline {

// The devices of a server: those of the target, in all pipeline stages, and the drafter's own device, if it has one.
struct ServerDevices {
  int targets = 1;
  std::string device;
  std::optional<std::string> drafter;
  int all() const { return targets + (drafter ? 1 : 0); }
};
ServerDevices devices_of_server(const Scenario&, const Point&);

struct FleetCost {
  std::optional<int> nodes;  // none: devices are bought individually
  double per_hour = 0;       // without prices, the number of devices
};
// Servers share nodes if they fit. A server with more devices than a node has its own nodes.
FleetCost cost_of_fleet(int servers, const ServerDevices&, const Prices&);

}  // namespace draftline
