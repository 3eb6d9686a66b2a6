// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet_cost.h"

#include <algorithm>

namespace draftline {

static constexpr int divided_up(int n, int by) { return (n + by - 1) / by; }

static void add(FleetCost& cost, const std::string& device, int devices, std::optional<int> nodes,
                const Prices& prices) {
  if (!nodes) {
    cost.per_hour += devices * prices.of(device);
    return;
  }
  cost.nodes = cost.nodes.value_or(0) + *nodes;
  cost.per_hour += 1.0 * *nodes * *prices.node_of(device) * prices.of(device);
}

ServerDevices devices_of_server(const Scenario& s, const Point& p) {
  ServerDevices each{s.parallel[p.parallel].devices * s.serving->choices[p.serving].fleet.stages,
                     s.devices[p.device]->name, std::nullopt};
  if (const auto& drafter = s.method(p).drafter_device) each.drafter = drafter->device->name;
  return each;
}

// A drafter talks to its target's host, in whichever node: those of the targets' kind take what these leave free.
FleetCost cost_of_fleet(int servers, const ServerDevices& each, const Prices& prices) {
  FleetCost all;
  const auto node = prices.node_of(each.device);
  const bool alike = each.drafter == each.device;
  std::optional<int> nodes;
  if (node) {
    const int in_a_node = *node / each.targets;
    nodes = in_a_node > 0 ? divided_up(servers, in_a_node) : servers * divided_up(each.targets, *node);
    if (alike) nodes = std::max(*nodes, divided_up(servers * each.all(), *node));
  }
  add(all, each.device, servers * (alike ? each.all() : each.targets), nodes, prices);
  if (alike || !each.drafter) return all;
  const auto drafters_node = prices.node_of(*each.drafter);
  add(all, *each.drafter, servers, drafters_node ? std::optional(divided_up(servers, *drafters_node)) : std::nullopt,
      prices);
  return all;
}

}  // namespace draftline
