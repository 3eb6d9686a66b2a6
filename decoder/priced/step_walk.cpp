// SPDX-License-Identifier: Apache-2.0
// A step's walk over its ops, one by one: walk_step() and op_prices().
#include <algorithm>

#include "decoder/priced/cpu_pricer.h"
#include "decoder/priced/engine_time.h"
#include "decoder/priced/pricer.h"
#include "decoder/priced/step_price.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

namespace {

// Keys and values that a step accesses.
Bytes caches_accessed(const StepOutline& outline, std::span<const SegmentRun> segments, std::span<const int> lengths) {
  Bytes accessed;
  for (std::size_t i = 0; i < segments.size(); ++i)
    for (const StepOutline::Op& op : outline.segments[i].ops()) {
      const StepOutline::Kind& kind = outline.kind(op);
      if (const auto* k = std::get_if<Attention>(&kind.kernel))
        accessed += cpu_cache_bytes(*k, span_of(segments[i], op.pass, lengths, kind.window));
    }
  return accessed;
}

// Times of a step's ops, one by one. `step`: how long the step takes, where its ops' times depend on it.
class OpTimes {
 public:
  OpTimes(const StepOutline& outline, std::span<const SegmentRun> segments, std::span<const int> lengths,
          const Device& d, const Engine& e, Seconds step)
      : device_(d), outline_(outline), lengths_(lengths), price_(pricer(d, e, outline)) {
    if (d.caches_outlast_steps())
      step_ = {.time = step, .weights = price_->step_weights(), .caches = caches_accessed(outline, segments, lengths)};
  }
  const OpCost& cost(const StepOutline::Op& op) const { return price_->cost(op); }
  Seconds operator()(const SegmentRun& run, const StepOutline::Op& op) {
    if (!price_->varies(op)) return price_->time(op);
    const StepOutline::Kind& kind = outline_.kind(op);
    const bool attention = std::holds_alternative<Attention>(kind.kernel);
    const Span span = attention ? span_of(run, op.pass, lengths_, kind.window) : Span{};
    return time_of(device_, price_->varying(op), span, step_);
  }

 private:
  const Device& device_;
  const StepOutline& outline_;
  std::span<const int> lengths_;
  std::unique_ptr<Pricer> price_;
  StepOnCpu step_;
};

StepBreakdown walked(const StepOutline& outline, std::span<const SegmentRun> segments, OpTimes price, const Engine& e,
                     Speculation speculation) {
  Seconds host = host_base(e, speculation, outline), device;
  StepBreakdown b;
  KindTimes busy{};  // of each kind, since the device last waited for the host
  const auto clocks_meet = [&] {
    for (std::size_t k = 0; k < kKernelKinds && device >= host; ++k) b.waited[k] += busy[k];
    busy = {};
    host = std::max(host, device);
  };
  Issue issue(e);
  const LayerTime of_layer(e, outline);
  bool drafting = false;
  Seconds drafted_until;  // of a run of drafting ops: when it could begin; then when its last kernel ended
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const SegmentRun& run = segments[s];
    issue.start_segment(outline.segments[s].ops().size());
    for (const StepOutline::Op& op : outline.segments[s].ops()) {
      const StepOutline::Kind& kind = outline.kind(op);
      const KernelKind kernel = kind_of(kind.kernel);
      const OpCost& cost = price.cost(op);
      const bool drafts = kind.phase == Phase::draft && e.overlap;
      if (drafts && !drafting) drafted_until = std::max(device, host + issue.issued());
      drafting = drafts;
      const Seconds issued = host + issue.before(op.pass, kind.phase, cost);
      const Seconds t = price(run, op) + of_layer(kind.kernel, kind.phase);
      if (issued > device) device = issued, busy = {};
      device = device + t + issue.exposed(cost);
      if (drafting) {
        b.drafting += device - t - drafted_until;
        drafted_until = device;
      }
      b.of(kind.phase, kernel) += t;
      busy[kernel] += t;
      for (int w = 0; w < cost.waits; ++w) {
        host += issue.issued();
        clocks_meet();
        host += e.sync;
        issue.meet();
        drafting = false;
      }
    }
    drafting = false;
    host += issue.issued();
    if (run.waits) {
      clocks_meet();
      host += e.sync;
    }
    issue.meet();
  }
  clocks_meet();
  b.time = host;
  if (const Seconds least = host_between(e, speculation, outline) + issue.all(); b.time < least)
    b.time = least, b.waited = {};
  return b;
}

}  // namespace

StepBreakdown walk_step(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                        const Engine& e, Speculation speculation) {
  const StepOutline outline(segments);
  StepBreakdown step;
  const auto walk = [&](Seconds time) {
    step = walked(outline, segments, {outline, segments, lengths, d, e, time}, e, speculation);
    return step.time;
  };
  if (d.caches_outlast_steps()) fixed_point(walk);
  else walk({});
  return step;
}

std::vector<OpPrice> op_prices(std::span<const SegmentRun> segments, std::span<const int> lengths, const Device& d,
                               const Engine& e, Speculation speculation) {
  const StepOutline outline(segments);
  std::vector<OpPrice> all;
  OpTimes price(outline, segments, lengths, d, e, walk_step(segments, lengths, d, e, speculation).time);
  for (std::size_t s = 0; s < segments.size(); ++s)
    for (const StepOutline::Op& op : outline.segments[s].ops()) {
      const StepOutline::Kind& kind = outline.kind(op);
      all.push_back({kind.key, kind.phase, price(segments[s], op)});
    }
  return all;
}

}  // namespace draftline
