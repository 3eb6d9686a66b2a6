// SPDX-License-Identifier: Apache-2.0
// Like servers behind one router. Each server has a clock of its own, which the pool keeps from running ahead of what
// the router must know.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sim/server.h"

namespace draftline {

class ServerPool {
 public:
  // `first`: the number of its first server. The limits, costs and figures must outlive the pool.
  ServerPool(int first, int count, const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&,
             ServingFigures&);

  bool empty() const { return servers_.empty(); }
  int in_flight() const;                    // requests, running or waiting
  int waiting() const;                      // requests, without static batches that are being filled
  void hand_over(const Server::Handover&);  // makes these prefill servers
  void on_served(std::function<void(Server&, const ServedRequest&)>);  // called for each finished request

  Server& route();                  // the server of the next request
  Server& route_at(Ticks arrival);  // the same, once the servers that the router looks at have run until then
  void finish();                    // runs until no request is left; no more will arrive
  // The same where a finished request brings the next to its server: all take from one stream of requests, in the
  // order of time, so that no server runs ahead of another.
  void finish_in_order();
  void check_all_served() const;

 private:
  const FleetShape::Routing routing_;
  const SchedulerLimits& limits_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::int64_t turn_ = 0;
};

}  // namespace draftline
