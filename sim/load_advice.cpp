// SPDX-License-Identifier: Apache-2.0
#include "sim/load_advice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/stretches.h"

namespace draftline {

static constexpr double kCloseEnough = 1.03;  // rates

// A server that decodes plainly, at one rate of requests after the other.
class LoadAdvisor::PlainServer {
 public:
  PlainServer(ServingSweep& serving, const Point& p, std::uint64_t seed)
      : point_(p), seed_(seed), server_(serving.prepare(p)), workload_(server_->workload) {
    alone_ = latency_alone();
    capacity_ = find_capacity();
  }
  bool is_of(const Point& p, std::uint64_t seed) const { return point_ == p && seed_ == seed; }
  std::int64_t requests() const { return workload_.requests; }
  double alone() const { return alone_; }  // mean latency of a request that has the server for itself, in seconds
  // The most requests a second that it serves without a queue that grows; none if there are too few requests to tell.
  std::optional<double> capacity() const { return capacity_; }

  // `full`: the largest rate that is asked about.
  Workload load(double rate, double full) const { return at(rate, kFills / 2 * std::min(1.0, rate / full)); }
  Seconds latency(double rate, double full) {
    const auto [known, fresh] = latencies_.try_emplace({rate, full});
    if (fresh) known->second = run(load(rate, full)).figures.e2e.mean();
    return known->second;
  }

 private:
  static constexpr int kFills = 16, kLeastFills = 4;
  static constexpr double kOverload = 1.5;

  ServingRun run(Workload w) {
    server_->workload = std::move(w);
    return server_->run(seed_, {});
  }
  double latency_alone() {
    Workload w = one_by_one(workload_);
    w.requests = std::min<std::int64_t>(w.requests, 20);
    w.warm_up = 0;
    return run(std::move(w)).figures.e2e.mean().value;
  }

  // Once it is overloaded a server may serve fewer requests, as it preempts: that is where the search begins.
  std::optional<double> find_capacity() {
    if (is_recorded(workload_) && to_double(workload_.requests) < kLeastFills * in_flight()) return std::nullopt;
    const std::optional<double> overloaded = served_of_more(2 * in_flight() / alone_);  // no server is faster than that
    if (!overloaded) return std::nullopt;
    double low = *overloaded, high = kOverload * low;
    for (; overloads(low); low /= kCloseEnough) high = low;
    while (high / low > kCloseEnough) {
      const double middle = std::sqrt(low * high);
      (overloads(middle) ? high : low) = middle;
    }
    return low;
  }
  // A load that seems to be served is served eight times as long: near its limit a server keeps up until a burst fills
  // its KV pool, and falls behind from then on, as it computes again what it preempts.
  bool overloads(double rate) {
    Workload w = at(rate, kFills);
    if (run(w).diverges) return true;
    if (is_recorded(w)) return false;
    w.requests = more_requests(w, 8 * to_double(w.requests));
    return run(std::move(w)).diverges;
  }
  // The requests a second that are served while more arrive, at a rate that is brought near to it: at far more all
  // requests arrive before the first batches are served.
  std::optional<double> served_of_more(double rate) {
    constexpr int kMostTries = 6;
    constexpr double kLeastServed = 0.4;
    for (int i = 0; i < kMostTries; ++i) {
      const ServingRun more = run(at(rate, kFills));
      if (more.queue_growth <= 0) return std::nullopt;
      const double served = rate * (1 - more.queue_growth);
      if (served > kLeastServed * rate) return served;
      rate = kOverload * std::max(served, to_double(server_->workload.requests) / more.figures.makespan().value);
    }
    return std::nullopt;
  }

  // Sequences that are decoded together.
  double in_flight() const {
    const SchedulerLimits& l = server_->limits;
    const double prompt = mean_prompt(workload_), text = prompt + mean_output(workload_) / 2;
    const double shared = workload_.shared_prefix && l.shares_prefixes()
                              ? l.prefix_reuse->of(to_int(std::min<double>(prompt, workload_.shared_prefix->tokens)))
                              : 0;
    const std::int64_t blocks =
        l.blocks_for(to_int64(text)) - to_int64(shared * l.kept.unwindowed_share() / l.block_size);
    return server_->fleet.schedulers() *
           std::clamp(to_double(l.kv_blocks) / to_double(std::max<std::int64_t>(blocks, 1)), 1.0,
                      to_double(l.max_num_seqs));
  }
  // The workload at a rate, with enough requests to fill the server so often.
  Workload at(double rate, double fills) const {
    Workload w = at_rate(workload_, rate / mean_rate(workload_));
    if (!is_recorded(w))
      w.requests = std::max(w.requests, to_int64(std::min<double>(kMostRequests, fills * in_flight())));
    return w;
  }

  const Point point_;
  const std::uint64_t seed_;
  std::unique_ptr<ServingPoint> server_;
  const Workload workload_;  // as the scenario says it
  double alone_;
  std::optional<double> capacity_;
  std::map<std::pair<double, double>, Seconds> latencies_;
};

LoadAdvisor::LoadAdvisor(ServingSweep& serving) : serving_(serving) {
  const auto& methods = serving.scenario().methods;
  const auto plain = std::ranges::find_if(methods, [](const MethodChoice& m) { return m.spec.is_plain(); });
  check(plain != methods.end(), "a scenario without a plain method is compared with plain decoding");
  plain_method_ = draftline::at(plain - methods.begin());
}
LoadAdvisor::~LoadAdvisor() = default;

std::optional<LoadAdvice> LoadAdvisor::at(const Point& p, std::uint64_t seed) {
  if (mean_rate(serving_.scenario().serving->choices[p.serving].workload) <= 0) return std::nullopt;
  Point without = p;
  without.method = plain_method_;
  try {
    const auto speculating = serving_.prepare(p);
    if (!plain_ || !plain_->is_of(without, seed)) plain_ = std::make_unique<PlainServer>(serving_, without, seed);
    return compare(*speculating, seed);
  } catch (const InputErrors&) { return std::nullopt; }
}

LoadAdvice LoadAdvisor::compare(ServingPoint& speculating, std::uint64_t seed) {
  constexpr int kPoints = 9;
  constexpr double kIdle = 0.02, kNearlyFull = 0.95;
  const double alone = plain_->alone();
  const std::optional<double> capacity = plain_->capacity();
  const double burst = to_double(plain_->requests()) / alone;  // all requests arrive while one is served
  const double least = kIdle / alone, most = capacity ? kNearlyFull * *capacity : burst;
  std::vector<double> rates;
  for (int i = 0; i < kPoints && most > least; ++i)
    rates.push_back(least * std::pow(most / least, i / (kPoints - 1.0)));
  if (rates.empty()) rates = {most};
  const auto paying = stretches(
      rates,
      [&](double rate) {
        speculating.workload = plain_->load(rate, most);
        return speculating.run(seed, {}).figures.e2e.mean() < plain_->latency(rate, most);
      },
      [](double low, double high) {
        return high / low > kCloseEnough ? std::optional(std::sqrt(low * high)) : std::nullopt;
      });
  using enum LoadAdvice::Outcome;
  if (paying.empty()) return LoadAdvice{never_pays, {}, {}};
  const bool to_the_end = paying.back().to == rates.back();
  if (to_the_end && !capacity) return LoadAdvice{too_few_requests, {}, {}};
  return LoadAdvice{.outcome = to_the_end ? pays_until_overload : pays_between,
                    .pays_from = {paying.front().from == rates.front() ? 0 : paying.front().from},
                    .pays_to = {to_the_end ? *capacity : paying.back().to}};
}

}  // namespace draftline
