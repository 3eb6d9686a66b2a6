// SPDX-License-Identifier: Apache-2.0
// Equal servers behind one router. Each server has its own clock; the pool prevents it from passing the time at which
// the router needs its state.
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
    int first, count, ranks;  // the first rank's number; servers; ranks of each
  };
  // The limits, costs and figures must outlive the pool.
  ServerPool(Numbers, const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);

  bool empty() const { return servers_.empty(); }
  // Requests in flight and waiting requests (without static batches that are being filled), each as of the last arrival
  // up to which a server was advanced. The current state may differ, because servers advance only on demand.
  std::int64_t in_flight() const { return in_flight_; }
  std::int64_t waiting() const { return waiting_; }
  void hand_over(const Server::Handover&);                             // makes these prefill servers
  void on_served(std::function<void(Server&, const ServedRequest&)>);  // called for each finished request

  Server& route();                  // the server of the next request
  Server& route_at(Ticks arrival);  // the same, after advancing the servers that the router compares
  void finish();                    // runs until all requests are finished; no more will arrive
  void close();                     // no more requests will arrive: static batches may be partly full
  // The busy server with the earliest clock, without one of them; null: no other is busy.
  Server* earliest_busy(const Server* without = nullptr) const;
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
  std::vector<Seen> seen_;                    // of each server at the last arrival to which it advanced
  std::int64_t in_flight_ = 0, waiting_ = 0;  // their sums
  std::int64_t turn_ = 0;
};

}  // namespace draftline
