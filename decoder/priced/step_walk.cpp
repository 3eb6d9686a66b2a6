// SPDX-License-Identifier: Apache-2.0
// A step's walk over its ops, one by one: step_time() and op_prices().
#include <algorithm>

#include "decoder/priced/kernel_pricer.h"

namespace draftline {

namespace {

// Keys and values that a step meets.
Bytes caches_met(std::span<const SegmentRun> segments, std::span<const int> lengths) {
  Bytes met;
  for (const SegmentRun& run : segments)
    for (const Op& op : run.tape->ops) {
      const Kernel kernel = kernel_of(op, *run.tape);
      if (const auto* k = std::get_if<Attention>(&kernel))
        met += cpu_cache_bytes(*k, span_of(run, pass_of(op).index, lengths));
    }
  return met;
}

// Times of a step's ops, one by one; on a CPU, of a step that takes so long.
class OpTimes {
 public:
  OpTimes(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d, const Engine& e,
          Seconds step)
      : device_(d), lengths_(lengths), price_(d, e, segments) {
    if (d.cpu) step_ = {step, price_.step_weights(), caches_met(segments, lengths), {}};
  }
  Seconds operator()(const SegmentRun& run, const Op& op, const Kernel& kernel, const OpCost& cost) {
    if (const auto* k = std::get_if<Attention>(&kernel))
      return attention_time(device_, *k, span_of(run, pass_of(op).index, lengths_), cost.launches, cost.cache_traffic,
                            cost.bytes_per_pair.value, entries(op));
    if (const auto* k = std::get_if<Gemm>(&kernel); k && device_.cpu)
      return gemm_time_on_cpu(device_, price_.padded(*k), cost.weight_traffic,
                              distance_of_weights(device_, price_.last_access(op), step_)) +
             price_.extra_launches(cost);
    if (const auto* k = std::get_if<Copy>(&kernel); k && device_.cpu && k->old_lines.value > 0)
      return kernel_time(device_, with_traffic(*k, cost), entries(op)) + price_.extra_launches(cost);
    return price_(op, kernel, cost);
  }

 private:
  ReuseDistance entries(const Op& op) {
    return device_.cpu ? distance_of_entries(device_, price_.last_access(op), step_) : ReuseDistance{};
  }
  const Device& device_;
  std::span<const int> lengths_;
  KernelPricer price_;
  StepOnCpu step_;
};

StepParts walked(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d, const Engine& e,
                 bool speculating, Seconds step) {
  Seconds host = host_base(e, speculating), device;
  std::array<Seconds, 4> sums{};
  CostTable costs(e);
  OpTimes price(segments, lengths, d, e, step);
  Issue issue(e);
  for (const SegmentRun& run : segments) {
    issue.start_segment(run.tape->ops.size());
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i) {
      const Op& op = run.tape->ops[i];
      const Kernel kernel = kernel_of(op, *run.tape);
      const OpCost& cost = costs(op, *run.tape, run.tape->phases[i]);
      const Seconds issued = host + issue.before(op, run.tape->phases[i], cost);
      const Seconds t = price(run, op, kernel, cost);
      sums[static_cast<std::size_t>(part_of(run.tape->phases[i], kernel))] += t;
      device = std::max(device, issued) + t + issue.beside(cost);
      for (int w = 0; w < cost.waits; ++w) {
        host = std::max(host + issue.issued(), device) + e.sync;
        issue.meet();
      }
    }
    host = std::max(host + issue.issued(), run.waits ? device : Seconds{}) + (run.waits ? e.sync : Seconds{});
    issue.meet();
  }
  const Seconds total = std::max(host, device);
  return {sums[0], sums[1], sums[2], sums[3], total - sums[0] - sums[1] - sums[2] - sums[3]};
}

}  // namespace

StepParts step_time(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                    const Engine& e, bool speculating) {
  StepParts parts;
  fixed_point(d, [&](Seconds step) {
    parts = walked(segments, lengths, d, e, speculating, step);
    return parts.total();
  });
  return parts;
}

std::vector<OpPrice> op_prices(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                               const Engine& e, bool speculating) {
  std::vector<OpPrice> all;
  CostTable costs(e);
  OpTimes price(segments, lengths, d, e, step_time(segments, lengths, d, e, speculating).total());
  for (const SegmentRun& run : segments)
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i) {
      const Op& op = run.tape->ops[i];
      const OpCost& cost = costs(op, *run.tape, run.tape->phases[i]);
      all.push_back({op_key(op, *run.tape), run.tape->phases[i], price(run, op, kernel_of(op, *run.tape), cost)});
    }
  return all;
}

}  // namespace draftline
