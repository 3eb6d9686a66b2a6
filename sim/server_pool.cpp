// SPDX-License-Identifier: Apache-2.0
#include "sim/server_pool.h"

#include <algorithm>
#include <utility>

#include "sim/load_balancing.h"

namespace draftline {

ServerPool::ServerPool(Numbers numbers, const FleetShape& shape, const SchedulerLimits& limits,
                       const Drafting& drafting, StepCost& cost, ServingFigures& figures)
    : routing_(shape.routing), limits_(limits) {
  for (int i = 0; i < numbers.count; ++i)
    servers_.push_back(std::make_unique<Server>(numbers.first + i * numbers.ranks, numbers.ranks, shape, limits,
                                                drafting, cost, figures));
  seen_.resize(servers_.size());
}

void ServerPool::advance(std::size_t server, Ticks arrival) {
  Server& s = *servers_[server];
  s.advance(arrival);
  const int filling = limits_.batching == Batching::static_batching ? limits_.max_num_seqs : 0;
  const Seen now{s.in_flight(), std::max(0, s.waiting() - filling)};
  in_flight_ += now.in_flight - seen_[server].in_flight;
  waiting_ += now.waiting - seen_[server].waiting;
  seen_[server] = now;
}

void ServerPool::hand_over(const Server::Handover& handover) {
  for (const auto& s : servers_) s->hand_over(handover);
}

void ServerPool::on_served(std::function<void(Server&, const ServedRequest&)> callback) {
  for (const auto& s : servers_)
    s->on_served = [callback, server = s.get()](const ServedRequest& done) { callback(*server, done); };
}

Server& ServerPool::route() { return chosen_by(routing_, servers_, turn_++); }

Server& ServerPool::route_at(Ticks arrival) {
  const bool in_turn = routing_ == FleetShape::Routing::round_robin;
  if (in_turn) advance(at(turn_) % servers_.size(), arrival);
  for (std::size_t i = 0; !in_turn && i < servers_.size(); ++i) advance(i, arrival);
  return route();
}

void ServerPool::close() {
  for (const auto& s : servers_) s->close();
}

void ServerPool::finish() {
  close();
  for (const auto& s : servers_) s->advance(kForever);
}

Server* ServerPool::earliest_busy(const Server* without) const {
  Server* earliest = nullptr;
  for (const auto& s : servers_)
    if (s.get() != without && s->in_flight() > 0 && (earliest == nullptr || s->now() < earliest->now()))
      earliest = s.get();
  return earliest;
}

Demand ServerPool::demand() const {
  Demand all;
  for (const auto& s : servers_) all.add(s->demand());
  return all;
}

void ServerPool::check_all_served() const {
  for (const auto& s : servers_) check(s->blocks_in_use() == 0 && s->in_flight() == 0, "a served request keeps blocks");
}

}  // namespace draftline
