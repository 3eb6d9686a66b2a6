// SPDX-License-Identifier: Apache-2.0
// Like servers behind one router. Each server has a clock of its own, which the pool keeps from running ahead of what
// the router must know.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/server.h"

namespace draftline {

class ServerPool {
 public:
  struct Numbers {
    int first, count;
  };
  // The limits, costs and figures must outlive the pool.
  ServerPool(Numbers, const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);

  bool empty() const { return servers_.empty(); }
  // Requests in flight, and those of them that wait (without static batches that are being filled), of each server when
  // it last ran until an arrival. What it holds now it may long have begun, as nobody has looked.
  std::int64_t in_flight() const { return in_flight_; }
  std::int64_t waiting() const { return waiting_; }
  void hand_over(const Server::Handover&);                             // makes these prefill servers
  void on_served(std::function<void(Server&, const ServedRequest&)>);  // called for each finished request

  Server& route();                  // the server of the next request
  Server& route_at(Ticks arrival);  // the same, once the servers that the router looks at have run until then
  void finish();                    // runs until no request is left; no more will arrive
  // Runs until no request is left, where a finished request brings the next to its server: all servers take from one
  // stream of requests, in the order of time, so that no server runs ahead of another.
  void finish_in_order();
  void check_all_served() const;
  Demand demand() const;

 private:
  struct Seen {
    int in_flight = 0, waiting = 0;
  };
  void advance(std::size_t server, Ticks arrival);
  const FleetShape::Routing routing_;
  const SchedulerLimits& limits_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Seen> seen_;                    // of each server when it last ran until an arrival
  std::int64_t in_flight_ = 0, waiting_ = 0;  // their sums
  std::int64_t turn_ = 0;
};

}  // namespace draftline
