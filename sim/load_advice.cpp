// SPDX-License-Identifier: Apache-2.0
#include "sim/load_advice.h"

#include <algorithm>
#include <cmath>

#include "sim/stretches.h"

namespace draftline {

namespace {

constexpr double kCloseEnough = 1.03;  // rates

// A server that decodes plainly and one that speculates, at one rate of requests after the other.
class TwoServers {
 public:
  TwoServers(ServingSweep& serving, const Point& p, std::size_t plain_method, std::uint64_t seed)
      : seed_(seed), speculating_(serving.prepare(p)) {
    Point plain = p;
    plain.method = plain_method;
    plain_ = serving.prepare(plain);
    workload_ = plain_->workload;
  }

  // The mean latency of a request that has the server for itself, in seconds.
  double alone() {
    plain_->workload = workload_;
    plain_->workload.arrivals = {ArrivalProcess::Kind::closed};
    plain_->workload.arrivals.concurrency = 1;
    plain_->workload.requests = std::min<std::int64_t>(workload_.requests, 20);
    plain_->workload.warm_up = 0;
    return plain_->run(seed_, {}).figures.e2e.mean().value;
  }

  // The most requests a second that the plain server serves without a queue that grows; none if there are too few
  // requests to tell. Once it is overloaded a server may serve fewer, as it preempts: that is where the search begins.
  std::optional<double> capacity(double alone) {
    if (is_recorded(workload_) && static_cast<double>(workload_.requests) < kLeastFills * in_flight())
      return std::nullopt;
    const std::optional<double> overloaded = served_of_more(2 * in_flight() / alone);  // no server is faster than that
    if (!overloaded) return std::nullopt;
    double low = *overloaded, high = kOverload * low;
    for (; overloads(low); low /= kCloseEnough) high = low;
    while (high / low > kCloseEnough) {
      const double middle = std::sqrt(low * high);
      (overloads(middle) ? high : low) = middle;
    }
    return low;
  }

  bool gains(double rate, double full) {
    plain_->workload = speculating_->workload = at(rate, kFills / 2 * std::min(1.0, rate / full));
    return speculating_->run(seed_, {}).figures.e2e.mean() < plain_->run(seed_, {}).figures.e2e.mean();
  }
  std::int64_t requests() const { return workload_.requests; }

 private:
  static constexpr int kFills = 16, kLeastFills = 4;
  static constexpr double kOverload = 1.5;

  ServingRun run_plain(double rate) {
    plain_->workload = at(rate, kFills);
    return plain_->run(seed_, {});
  }
  // A load that seems to be served is served eight times as long: near its limit a server keeps up until a burst fills
  // its KV pool, and falls behind from then on, as it computes again what it preempts.
  bool overloads(double rate) {
    if (run_plain(rate).diverges) return true;
    Workload& w = plain_->workload;
    if (is_recorded(w)) return false;
    w.requests = more_requests(w, 8 * static_cast<double>(w.requests));
    return plain_->run(seed_, {}).diverges;
  }
  // The requests a second that the plain server serves while more arrive, at a rate that is brought near to it: at far
  // more all requests arrive before the first batches are served.
  std::optional<double> served_of_more(double rate) {
    constexpr int kMostTries = 6;
    constexpr double kLeastServed = 0.4;
    for (int i = 0; i < kMostTries; ++i) {
      const ServingRun run = run_plain(rate);
      if (run.queue_growth <= 0) return std::nullopt;
      const double served = rate * (1 - run.queue_growth);
      if (served > kLeastServed * rate) return served;
      rate =
          kOverload * std::max(served, static_cast<double>(plain_->workload.requests) / run.figures.makespan().value);
    }
    return std::nullopt;
  }

  // Sequences that the plain server decodes together.
  double in_flight() const {
    const SchedulerLimits& l = plain_->limits;
    double prompt = mean_prompt(workload_);  // without what it may share with others
    if (workload_.shared_prefix && l.prefix_caching) prompt = std::max(0.0, prompt - workload_.shared_prefix->tokens);
    const auto blocks = l.blocks_for(static_cast<std::int64_t>(prompt + mean_output(workload_) / 2));
    return plain_->fleet.schedulers() *
           std::clamp(static_cast<double>(l.kv_blocks) / static_cast<double>(std::max<std::int64_t>(blocks, 1)), 1.0,
                      static_cast<double>(l.max_num_seqs));
  }
  // The workload at a rate, with enough requests to fill the server so often.
  Workload at(double rate, double fills) const {
    Workload w = at_rate(workload_, rate / mean_rate(workload_));
    if (!is_recorded(w))
      w.requests =
          std::max(w.requests, static_cast<std::int64_t>(std::min<double>(kMostRequests, fills * in_flight())));
    return w;
  }

  std::uint64_t seed_;
  std::unique_ptr<ServingPoint> plain_, speculating_;
  Workload workload_;
};

}  // namespace

LoadAdvice advise_load(ServingSweep& serving, const Point& p, std::size_t plain_method, std::uint64_t seed) {
  constexpr int kPoints = 9;
  constexpr double kIdle = 0.02, kNearlyFull = 0.95;
  TwoServers servers(serving, p, plain_method, seed);
  const double alone = servers.alone();
  const std::optional<double> capacity = servers.capacity(alone);
  const double burst = static_cast<double>(servers.requests()) / alone;  // all requests arrive while one is served
  const double least = kIdle / alone, most = capacity ? kNearlyFull * *capacity : burst;
  LoadAdvice out;
  std::vector<double> rates;
  for (int i = 0; i < kPoints && most > least; ++i)
    rates.push_back(least * std::pow(most / least, i / (kPoints - 1.0)));
  if (rates.empty()) rates = {most};
  const auto paying = stretches(
      rates, [&](double rate) { return servers.gains(rate, most); },
      [&](double low, double high) {
        return high / low > kCloseEnough ? std::optional(std::sqrt(low * high)) : std::nullopt;
      });
  if (paying.empty()) {
    out.never = true;
    return out;
  }
  const bool to_the_end = paying.back().to == rates.back();
  if (to_the_end && !capacity) {
    out.too_few = true;
    return out;
  }
  out.pays_from = {paying.front().from == rates.front() ? 0 : paying.front().from};
  out.pays_to = {to_the_end ? *capacity : paying.back().to};
  out.overloaded = to_the_end;
  return out;
}

}  // namespace draftline
