// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "sim/server_pool.h"

namespace draftline {

std::optional<std::string> refusals(const ServingFigures& f, const SchedulerLimits& limits) {
  if (f.refused == 0) return std::nullopt;
  return std::to_string(f.refused) + (f.refused == 1 ? " request of " : " requests of up to ") +
         std::to_string(f.longest_refused) + (f.refused == 1 ? " tokens does" : " tokens do") +
         " not fit the KV pool of " + std::to_string(limits.kv_blocks) + " blocks of " +
         std::to_string(limits.block_size);
}

namespace {

// The requests of a workload that fit the KV pool; others are refused.
class AcceptedRequests {
 public:
  // `rows`: of a verification, which take blocks beyond the text's. The arguments must outlive this object.
  AcceptedRequests(const Workload& w, std::uint64_t seed, const SchedulerLimits& limits, int rows,
                   ServingFigures& figures, const std::function<void(std::int64_t)>& progress)
      : requests_(w, seed),
        may_refuse_(draws_lengths(w)),
        limits_(limits),
        rows_(rows),
        figures_(figures),
        progress_(progress) {}

  std::optional<Request> next() {
    for (;;) {
      auto r = requests_.next();
      if (r && progress_ && r->id % 4096 == 0) progress_(r->id);
      if (!r) return r;
      const std::int64_t blocks = limits_.blocks_for(std::int64_t{r->prompt} + r->output + rows_);
      if (demand_.ask_blocks(blocks, limits_.kv_blocks)) return r;
      if (!first_refused_) first_refused_ = too_large(*r);
      if (!may_refuse_) throw *first_refused_;
      figures_.record_refusal(*r);
    }
  }
  const Demand& demand() const { return demand_; }
  void check_not_all_refused() const {
    if (first_refused_ && figures_.requests == 0) throw *first_refused_;
  }

 private:
  InputErrors too_large(const Request& r) const {
    return InputErrors(requests_.place(r) + ": a request of " + std::to_string(r.prompt) + " + " +
                       std::to_string(r.output) + " tokens does not fit the KV pool of " +
                       std::to_string(limits_.kv_blocks) + " blocks of " + std::to_string(limits_.block_size));
  }

  Requests requests_;
  const bool may_refuse_;
  const SchedulerLimits& limits_;
  const int rows_;
  ServingFigures& figures_;
  const std::function<void(std::int64_t)>& progress_;
  std::optional<InputErrors> first_refused_;
  Demand demand_;
};

// A closed loop: a client sends its next request when the last one has ended. Over a front end it arrives a tick later,
// so that the server's next step has begun. If there are servers for prompts alone, they hand over to those that
// decode. A request or a handover in flight is delivered when no busy server's clock is before its arrival.
class ClosedLoop {
 public:
  // `transfer`: the time to hand over a prompt of so many tokens.
  ClosedLoop(AcceptedRequests& requests, ServerPool& prefillers, ServerPool& decoders, ServingFigures& figures,
             Ticks front_end, std::function<Ticks(int prompt_tokens)> transfer)
      : requests_(requests),
        prefillers_(prefillers),
        decoders_(decoders),
        figures_(figures),
        delay_(std::min<Ticks>(front_end, 1)),
        transfer_(std::move(transfer)) {
    prefillers.hand_over([this](const ServedRequest& r) {
      ServedRequest sent = r;
      sent.first_token += transfer_(r.request.prompt);
      sent_.emplace(sent.first_token, sent);
      stop_at(sent.first_token);
    });
    for (ServerPool* pool : {&prefillers, &decoders})
      pool->on_served([this](Server&, const ServedRequest& done) { arrive(done.last_token + delay_); });
  }

  void serve(int concurrency) {
    ServerPool& front = prefillers_.empty() ? decoders_ : prefillers_;
    prefillers_.close();
    decoders_.close();
    for (int i = 0; i < concurrency; ++i) arrive(0);
    for (;;) {
      advancing_ = earlier(prefillers_.earliest_busy(), decoders_.earliest_busy());
      const Ticks now = clock_of(advancing_), arrival = time_of(arrivals_), handover = time_of(sent_);
      if (arrival <= now && arrival <= handover && !arrivals_.empty()) {
        front.route().submit(arrivals_.extract(arrivals_.begin()).mapped());
      } else if (handover <= now && !sent_.empty()) {
        decoders_.route().submit_prefilled(sent_.extract(sent_.begin()).mapped());
      } else if (advancing_ != nullptr) {
        const Ticks other =
            clock_of(earlier(prefillers_.earliest_busy(advancing_), decoders_.earliest_busy(advancing_)));
        advancing_->advance(std::min({arrival, handover, other == kForever ? kForever : other + 1}));
      } else {
        return;
      }
    }
  }

 private:
  static Ticks clock_of(const Server* s) { return s == nullptr ? kForever : s->now(); }
  template <class Queue>
  static Ticks time_of(const Queue& q) {
    return q.empty() ? kForever : q.begin()->first;
  }
  static Server* earlier(Server* a, Server* b) { return clock_of(b) < clock_of(a) ? b : a; }
  void stop_at(Ticks t) {
    if (advancing_ != nullptr) advancing_->stop_at(t);
  }
  void arrive(Ticks at) {
    auto r = requests_.next();
    if (!r) return;
    r->arrival = at;
    figures_.record_arrival(*r);
    arrivals_.emplace(at, *r);
    stop_at(at);
  }

  AcceptedRequests& requests_;
  ServerPool &prefillers_, &decoders_;
  ServingFigures& figures_;
  const Ticks delay_;
  const std::function<Ticks(int)> transfer_;
  Server* advancing_ = nullptr;
  std::multimap<Ticks, Request> arrivals_;    // by their times
  std::multimap<Ticks, ServedRequest> sent_;  // whose keys and values arrive at these times
};

// Serves requests as they arrive; none if `enough` said so before one of them, and the rest is not served.
std::optional<Backlog> serve_arrivals(std::int64_t count, AcceptedRequests& requests, ServerPool& servers,
                                      ServingFigures& figures, const std::function<bool()>& enough) {
  Backlog backlog(count);
  while (const auto r = requests.next()) {
    if (enough && enough()) return std::nullopt;
    Server& server = servers.route_at(r->arrival);
    backlog.sample(r->id, servers);
    figures.record_arrival(*r);
    server.submit(*r);
  }
  backlog.end(servers);
  servers.finish();
  return backlog;
}

}  // namespace

Fleet::Fleet(const FleetShape& shape, const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost)
    : shape_(shape), limits_(limits), prefill_limits_(limits), drafting_(drafting), cost_(cost), prefill_cost_(&cost) {}

void Fleet::set_prefillers(const SchedulerLimits& limits, StepCost& cost) {
  prefill_limits_ = limits;
  prefill_cost_ = &cost;
}

ServingRun Fleet::run(const Workload& workload, std::uint64_t seed, const LatencyTargets& targets,
                      ServingObserver* observer, const std::function<void(std::int64_t)>& progress) {
  if (observer != nullptr) observer->on_start(shape_, limits_);
  return simulate(workload, seed, ServingFigures(workload.warm_up, targets, to_ticks(shape_.front_end), observer),
                  Until::end, progress);
}

ServingRun Fleet::run_while_targets_hold(const Workload& workload, std::uint64_t seed, const LatencyTargets& targets,
                                         ServingObserver* observer) {
  return simulate(workload, seed, ServingFigures(workload.warm_up, targets, to_ticks(shape_.front_end), observer),
                  Until::sure_to_miss, {});
}

Ticks Fleet::transfer_time(int prompt_tokens) const {
  return step_ticks(shape_.transfer_fixed + limits_.kept(prompt_tokens) * shape_.transfer_per_token);
}

// A client gets its first token from the server that decodes, once the keys and values are there.
Backlog Fleet::decode(std::vector<ServedRequest>& computed, ServerPool& decoders) const {
  for (ServedRequest& r : computed) r.first_token += transfer_time(r.request.prompt);
  std::ranges::stable_sort(computed, [](const auto& a, const auto& b) {
    return a.first_token != b.first_token ? a.first_token < b.first_token : a.request.id < b.request.id;
  });
  Backlog backlog(std::ssize(computed));
  std::int64_t arrived = 0;
  for (const ServedRequest& r : computed) {
    Server& server = decoders.route_at(r.first_token);
    backlog.sample(arrived++, decoders);
    server.submit_prefilled(r);
  }
  backlog.end(decoders);
  decoders.finish();
  return backlog;
}

ServingRun Fleet::simulate(const Workload& workload, std::uint64_t seed, ServingFigures empty, Until until,
                           const std::function<void(std::int64_t)>& progress) {
  ServingRun out{.figures = std::move(empty)};
  ServingFigures& figures = out.figures;
  Drafting drafting = drafting_;
  drafting.seed = seed;
  SchedulerLimits limits = limits_;
  SchedulerLimits prefill_limits = prefill_limits_;
  limits.prefix_block = prefill_limits.prefix_block = prefix_block(workload);
  SchedulerLimits least = limits;
  if (shape_.prefill_replicas > 0) least.kv_blocks = std::min(limits.kv_blocks, prefill_limits.kv_blocks);
  AcceptedRequests requests(workload, seed, least, drafting.rows, figures, progress);
  const Seconds priced = cost_.pricing_time();
  const auto begin = std::chrono::steady_clock::now();

  const int decoding = shape_.replicas * shape_.stages, prefilling = shape_.prefill_replicas * shape_.stages;
  ServerPool decoders({0, decoding, shape_.parts}, shape_, limits, drafting, cost_, figures);
  ServerPool prefillers({shape_.decode_schedulers(), prefilling, shape_.prefill_parts}, shape_, prefill_limits,
                        Drafting{}, *prefill_cost_, figures);
  ServerPool& front = prefillers.empty() ? decoders : prefillers;
  std::vector<ServedRequest> computed;  // requests whose prompts the prefill servers have computed
  prefillers.hand_over([&](const ServedRequest& r) { computed.push_back(r); });

  const auto judge = [&](const Backlog& backlog) {
    out.diverges = out.diverges || backlog.diverges(workload);
    out.unsettled = !out.diverges && (out.unsettled || backlog.unsettled(workload));
    out.fills = out.fills || backlog.fills(workload);
    out.queue_growth = std::max(out.queue_growth, backlog.growth());
  };
  if (workload.arrivals.kind == ArrivalProcess::Kind::closed) {
    const auto transfer = [&](int prompt) { return transfer_time(prompt); };
    ClosedLoop(requests, prefillers, decoders, figures, to_ticks(shape_.front_end), transfer)
        .serve(workload.arrivals.concurrency);
  } else {
    std::function<bool()> enough;
    if (until == Until::sure_to_miss)
      enough = [&] { return figures.sure_to_miss(workload.requests - workload.warm_up); };
    const auto backlog = serve_arrivals(workload.requests, requests, front, figures, enough);
    out.cut_short = !backlog;
    if (backlog) judge(*backlog);
    out.by_prompts = out.diverges && !prefillers.empty();
    if (backlog && !prefillers.empty()) judge(decode(computed, decoders));
  }

  for (const Demand& d : {requests.demand(), decoders.demand(), prefillers.demand()}) out.demand.add(d);
  if (out.cut_short) return out;
  requests.check_not_all_refused();
  decoders.check_all_served();
  prefillers.check_all_served();
  const Seconds wall{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  out.pricing_time = cost_.pricing_time() - priced;
  out.wall_time = wall - out.pricing_time;
  return out;
}

}  // namespace draftline
