// SPDX-License-Identifier: Apache-2.0
// A step's walk over its ops, one by one: step_time() and op_prices().
#include <algorithm>

#include "decoder/priced/kernel_pricer.h"

namespace draftline {

namespace {

// Keys and values that a step accesses.
Bytes caches_met(const StepOutline& outline, std::span<const SegmentRun> segments, std::span<const int> lengths) {
  Bytes accessed;
  for (std::size_t i = 0; i < segments.size(); ++i)
    for (const StepOutline::Op& op : outline.segments[i].ops)
      if (const auto* k = std::get_if<Attention>(&outline.kinds[static_cast<std::size_t>(op.kind)].kernel))
        accessed += cpu_cache_bytes(*k, span_of(segments[i], op.pass, lengths));
  return accessed;
}

// Times of a step's ops, one by one; on a CPU, of a step that takes so long.
class OpTimes {
 public:
  OpTimes(const StepOutline& outline, std::span<const SegmentRun> segments, std::span<const int> lengths,
          const Device& d, const Engine& e, Seconds step)
      : device_(d), outline_(outline), lengths_(lengths), price_(d, e, outline) {
    if (d.cpu) step_ = {step, price_.step_weights(), caches_met(outline, segments, lengths), {}};
  }
  const OpCost& cost(const StepOutline::Op& op) const { return price_.cost(op); }
  Seconds operator()(const SegmentRun& run, const StepOutline::Op& op) {
    const Kernel& kernel = outline_.kinds[static_cast<std::size_t>(op.kind)].kernel;
    const OpCost& cost = price_.cost(op);
    if (const auto* k = std::get_if<Attention>(&kernel))
      return attention_time(device_, *k, span_of(run, op.pass, lengths_), cost.launches, cost.cache_traffic,
                            cost.bytes_per_pair.value, entries(op));
    if (const auto* k = std::get_if<Gemm>(&kernel); k && device_.cpu)
      return gemm_time_on_cpu(device_, price_.padded(*k), cost.weight_traffic,
                              distance_of_weights(device_, price_.last_access(op), step_)) +
             price_.extra_launches(cost);
    if (const auto* k = std::get_if<Copy>(&kernel); k && device_.cpu && k->old_lines.value > 0)
      return kernel_time(device_, with_traffic(*k, cost), entries(op)) + price_.extra_launches(cost);
    return price_(op);
  }

 private:
  ReuseDistance entries(const StepOutline::Op& op) {
    return device_.cpu ? distance_of_entries(device_, price_.last_access(op), step_) : ReuseDistance{};
  }
  const Device& device_;
  const StepOutline& outline_;
  std::span<const int> lengths_;
  KernelPricer price_;
  StepOnCpu step_;
};

StepParts walked(const StepOutline& outline, std::span<const SegmentRun> segments, std::span<const int> lengths,
                 const Device& d, const Engine& e, bool speculating, Seconds step) {
  Seconds host = host_base(e, speculating), device;
  std::array<Seconds, 4> sums{};
  OpTimes price(outline, segments, lengths, d, e, step);
  Issue issue(e);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const SegmentRun& run = segments[s];
    issue.start_segment(outline.segments[s].ops.size());
    for (const StepOutline::Op& op : outline.segments[s].ops) {
      const StepOutline::Kind& kind = outline.kinds[static_cast<std::size_t>(op.kind)];
      const OpCost& cost = price.cost(op);
      const Seconds issued = host + issue.before(op.pass, kind.phase, cost);
      const Seconds t = price(run, op);
      sums[static_cast<std::size_t>(part_of(kind.phase, kind.kernel))] += t;
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
  const StepOutline outline(segments, static_cast<int>(lengths.size()));
  StepParts parts;
  fixed_point(d, [&](Seconds step) {
    parts = walked(outline, segments, lengths, d, e, speculating, step);
    return parts.total();
  });
  return parts;
}

std::vector<OpPrice> op_prices(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                               const Engine& e, bool speculating) {
  const StepOutline outline(segments, static_cast<int>(lengths.size()));
  std::vector<OpPrice> all;
  OpTimes price(outline, segments, lengths, d, e, step_time(segments, lengths, d, e, speculating).total());
  for (std::size_t s = 0; s < segments.size(); ++s)
    for (const StepOutline::Op& op : outline.segments[s].ops) {
      const StepOutline::Kind& kind = outline.kinds[static_cast<std::size_t>(op.kind)];
      all.push_back({kind.key, kind.phase, price(segments[s], op)});
    }
  return all;
}

}  // namespace draftline
