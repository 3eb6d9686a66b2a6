// SPDX-License-Identifier: Apache-2.0
#include "sim/server_pool.h"

#include <algorithm>
#include <utility>

#include "sim/routing.h"

namespace draftline {

ServerPool::ServerPool(int first, int count, const FleetShape& shape, const SchedulerLimits& limits,
                       const Drafting& drafting, StepCost& cost, ServingFigures& figures)
    : routing_(shape.routing), limits_(limits) {
  for (int i = 0; i < count; ++i)
    servers_.push_back(std::make_unique<Server>(first + i, shape, limits, drafting, cost, figures));
}

int ServerPool::in_flight() const {
  int sum = 0;
  for (const auto& s : servers_) sum += s->in_flight();
  return sum;
}

int ServerPool::waiting() const {
  const int filling = limits_.batching == SchedulerLimits::Batching::fixed ? limits_.max_num_seqs : 0;
  int sum = 0;
  for (const auto& s : servers_) sum += std::max(0, s->waiting() - filling);
  return sum;
}

void ServerPool::hand_over(const Server::Handover& handover) {
  for (const auto& s : servers_) s->hand_over(handover);
}

void ServerPool::on_served(std::function<void(Server&, const ServedRequest&)> callback) {
  for (const auto& s : servers_)
    s->on_served = [callback, server = s.get()](const ServedRequest& done) { callback(*server, done); };
}

Server& ServerPool::route() { return routed(routing_, servers_, turn_++); }

Server& ServerPool::route_at(Ticks arrival) {
  if (routing_ == FleetShape::Routing::round_robin) {
    Server& next = route();
    next.advance(arrival);
    return next;
  }
  for (const auto& s : servers_) s->advance(arrival);
  return route();
}

void ServerPool::finish() {
  for (const auto& s : servers_) {
    s->close();
    s->advance(kForever);
  }
}

void ServerPool::finish_in_order() {
  for (const auto& s : servers_) s->close();
  for (;;) {  // the server with the earliest clock advances until another is earlier
    Server* earliest = nullptr;
    Ticks next = kForever;
    for (const auto& s : servers_) {
      if (s->in_flight() == 0) continue;
      if (earliest == nullptr || s->now() < earliest->now()) {
        if (earliest != nullptr) next = std::min(next, earliest->now());
        earliest = s.get();
      } else {
        next = std::min(next, s->now());
      }
    }
    if (earliest == nullptr) return;
    earliest->advance(next == kForever ? kForever : next + 1);
  }
}

void ServerPool::check_all_served() const {
  for (const auto& s : servers_) check(s->blocks_in_use() == 0 && s->in_flight() == 0, "a served request keeps blocks");
}

}  // namespace draftline
