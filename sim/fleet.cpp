// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "sim/routing.h"

namespace draftline {

namespace {

using Servers = std::vector<std::unique_ptr<Server>>;

Server& route(const FleetShape& shape, Servers& servers, std::int64_t turn) {
  return routed(shape.routing, servers, turn);
}

// Advances the servers whose state the router uses to a time.
void advance(const FleetShape& shape, Servers& servers, std::int64_t turn, Ticks to) {
  if (shape.routing == FleetShape::Routing::round_robin) route(shape, servers, turn).advance(to);
  else
    for (const auto& s : servers) s->advance(to);
}

void finish(Servers& servers) {
  for (const auto& s : servers) {
    s->close();
    s->advance(kForever);
  }
}

}  // namespace

std::string refusals(const ServingFigures& f, const SchedulerLimits& limits) {
  if (f.refused == 0) return "";
  return std::to_string(f.refused) + (f.refused == 1 ? " request of " : " requests of up to ") +
         std::to_string(f.longest_refused) + (f.refused == 1 ? " tokens does" : " tokens do") +
         " not fit the KV pool of " + std::to_string(limits.kv_blocks) + " blocks of " +
         std::to_string(limits.block_size);
}

Fleet::Fleet(const FleetShape& shape, const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost)
    : shape_(shape), limits_(limits), drafting_(drafting), cost_(cost) {}

// The lengths of the queue when half and all of the requests have arrived, which show whether it only grows.
struct Fleet::Backlog {
  std::int64_t half = 0, all = 0;
  bool grew() const { return all >= 32 && all >= half + half / 3; }
  // The number of arrivals scatters around its mean by the square root of their number times the coefficient of
  // variation of the times between them, and a queue that a server empties again and again by less than that.
  bool diverges(const Workload& w) const {
    const auto n = static_cast<double>(w.requests);
    double many = n / 25;
    if (w.arrivals.kind == ArrivalProcess::Kind::poisson) many = std::min(many, 3 * std::sqrt(n));
    if (w.arrivals.kind == ArrivalProcess::Kind::gamma) many = std::min(many, 3 * w.arrivals.cv * std::sqrt(n));
    return grew() && static_cast<double>(all) >= many;
  }
  double growth(std::int64_t requests) const {
    return static_cast<double>(all - half) / static_cast<double>(requests - requests / 2);
  }
};

ServingRun Fleet::run(const Workload& workload, std::uint64_t seed, const LatencyTargets& targets,
                      ServingObserver* observer, const std::function<void(std::int64_t)>& progress) {
  return simulate(workload, seed, ServingFigures(workload.warm_up, targets, observer), Until::end, progress);
}

ServingRun Fleet::run_while_targets_hold(const Workload& workload, std::uint64_t seed, const LatencyTargets& targets) {
  return simulate(workload, seed, ServingFigures(workload.warm_up, targets), Until::sure_to_miss, {});
}

Ticks Fleet::transfer_time(int prompt_tokens) const {
  return step_ticks(shape_.transfer_fixed + shape_.transfer_per_token * limits_.kept(prompt_tokens));
}

ServingRun Fleet::simulate(const Workload& workload, std::uint64_t seed, ServingFigures empty, Until until,
                           const std::function<void(std::int64_t)>& progress) {
  ServingRun out{.figures = std::move(empty)};
  ServingFigures& figures = out.figures;
  Drafting drafting = drafting_;
  drafting.seed = seed;
  Requests requests(workload, seed);
  const bool may_refuse = draws_lengths(workload);
  const auto too_large = [&](const Request& r) {
    return InputErrors(requests.place(r) + ": a request of " + std::to_string(r.prompt) + " + " +
                       std::to_string(r.output) + " tokens does not fit the KV pool of " +
                       std::to_string(limits_.kv_blocks) + " blocks of " + std::to_string(limits_.block_size));
  };
  std::optional<InputErrors> first_refused;
  const auto pull = [&]() -> std::optional<Request> {  // the next request that is not refused
    for (;;) {
      auto r = requests.next();
      if (r && progress && r->id % 4096 == 0) progress(r->id);
      if (!r || limits_.blocks_for(std::int64_t{r->prompt} + r->output + drafting.rows) <= limits_.kv_blocks) return r;
      if (!first_refused) first_refused = too_large(*r);
      if (!may_refuse) throw *first_refused;
      figures.record_refusal(*r);
    }
  };
  const Seconds priced = cost_.pricing_time();
  const auto begin = std::chrono::steady_clock::now();

  Servers decoders, prefillers;
  const int decoding = shape_.replicas * shape_.stages;
  for (int i = 0; i < decoding; ++i)
    decoders.push_back(std::make_unique<Server>(i, shape_, limits_, drafting, cost_, figures));
  for (int i = 0; i < shape_.prefill_replicas * shape_.stages; ++i)
    prefillers.push_back(std::make_unique<Server>(decoding + i, shape_, limits_, Drafting{}, cost_, figures));
  Servers& front = prefillers.empty() ? decoders : prefillers;
  std::vector<ServedRequest> computed;  // requests whose prompts the prefill servers have computed
  for (const auto& p : prefillers) p->hand_over([&](const ServedRequest& r) { computed.push_back(r); });

  if (workload.arrivals.kind == ArrivalProcess::Kind::closed) {
    for (const auto& server : front)
      server->on_served = [&, s = server.get()](const ServedRequest& done) {
        if (auto r = pull()) {
          r->arrival = done.last_token;
          figures.record_arrival(*r);
          s->submit(*r);
        }
      };
    for (int i = 0; i < workload.arrivals.concurrency; ++i)
      if (const auto r = pull()) {
        figures.record_arrival(*r);
        route(shape_, front, i).submit(*r);
      }
    for (const auto& s : front) s->close();
    for (;;) {  // the server with the earliest clock advances until another is earlier
      Server* behind = nullptr;
      Ticks next = kForever;
      for (const auto& s : front) {
        if (s->in_flight() == 0) continue;
        if (behind == nullptr || s->now() < behind->now()) {
          if (behind != nullptr) next = std::min(next, behind->now());
          behind = s.get();
        } else {
          next = std::min(next, s->now());
        }
      }
      if (behind == nullptr) break;
      behind->advance(next == kForever ? kForever : next + 1);
    }
  } else {
    Backlog backlog;
    const bool fixed = limits_.batching == SchedulerLimits::Batching::fixed;
    const auto waiting = [&] {  // without a static batch that is being filled
      std::int64_t n = 0;
      for (const auto& s : front) n += std::max(0, s->waiting() - (fixed ? limits_.max_num_seqs : 0));
      return n;
    };
    bool halfway = false;
    for (std::int64_t turn = 0; const auto r = pull(); ++turn) {
      if (until == Until::sure_to_miss && figures.sure_to_miss(workload.requests - workload.warm_up)) {
        out.cut_short = true;
        return out;
      }
      advance(shape_, front, turn, r->arrival);
      figures.record_arrival(*r);
      route(shape_, front, turn).submit(*r);
      if (!halfway && r->id >= workload.requests / 2) {
        backlog.half = waiting();
        halfway = true;
      }
    }
    backlog.all = waiting();
    finish(front);
    out.diverges = backlog.diverges(workload);
    out.unsettled = backlog.grew() && !out.diverges;
    out.queue_growth = backlog.growth(workload.requests);
  }

  if (!prefillers.empty()) {
    // A client gets its first token from the server that decodes, once the keys and values are there.
    for (ServedRequest& r : computed) r.first_token += transfer_time(r.request.prompt);
    std::stable_sort(computed.begin(), computed.end(), [](const auto& a, const auto& b) {
      return a.first_token != b.first_token ? a.first_token < b.first_token : a.request.id < b.request.id;
    });
    std::int64_t turn = 0;
    for (const ServedRequest& r : computed) {
      advance(shape_, decoders, turn, r.first_token);
      route(shape_, decoders, turn++).submit_prefilled(r);
    }
    finish(decoders);
  }
  if (first_refused && figures.requests == 0) throw *first_refused;
  for (const Servers* pool : {&decoders, &prefillers})
    for (const auto& s : *pool) check(s->blocks_in_use() == 0 && s->in_flight() == 0, "a served request keeps blocks");
  const Seconds wall{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  out.pricing_time = cost_.pricing_time() - priced;
  out.wall_time = wall - out.pricing_time;
  return out;
}

}  // namespace draftline
