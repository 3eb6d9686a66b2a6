// SPDX-License-Identifier: Apache-2.0
// What the devices of a fleet cost, in whole nodes where they come so ("devices_per_node").
#pragma once
#include <optional>
#include <string>

#include "inputs/scenario.h"

namespace draftline {

// The devices of a server: those that hold the target, in all pipeline stages, and one of the drafter's own, where it
// has one.
struct ServerDevices {
  int targets = 1;
  std::string device;
  std::optional<std::string> drafter;
  int all() const { return targets + (drafter ? 1 : 0); }
};
ServerDevices devices_of_server(const Scenario&, const Point&);

struct FleetCost {
  std::optional<int> nodes;  // that hold the devices; none: each is bought alone
  double per_hour = 0;       // without prices, the number of devices
};
// Servers share nodes if they fit. One whose devices exceed a node has nodes of its own.
FleetCost cost_of_fleet(int servers, const ServerDevices&, const Prices&);

}  // namespace draftline
