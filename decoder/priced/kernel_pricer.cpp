// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/kernel_pricer.h"

#include <algorithm>

namespace draftline {

// ---- kernels

static Bytes held_bytes(const Gemm& k) { return bytes_of(DType::fp32, static_cast<double>(k.in) * k.out); }

// Weights of fewer bits that an engine writes out in 16 before it multiplies.
static Seconds dequantising(const Device& d, const Gemm& k, double weight_traffic) {
  if (weight_traffic <= 1) return {};
  return (weight_traffic - 1) * weight_bytes(k.weights, static_cast<double>(k.in) * k.out) /
         (d.fits.copy.bandwidth_share * d.bandwidth);
}

KernelPricer::KernelPricer(const Device& d, const Engine& e, const StepOutline& outline)
    : device_(d),
      engine_(e),
      outline_(outline),
      last_use_(static_cast<std::size_t>(outline.weights)),
      last_attended_(static_cast<std::size_t>(outline.layers)) {
  for (const StepOutline::Kind& k : outline.kinds)
    priced_.push_back({e.cost_of(k.key, k.phase == Phase::draft).of_heads(k.heads, k.kv_heads), -1, {}});
  if (!device_.cpu) return;
  for (const StepOutline::Segment& s : outline.segments)
    for (const StepOutline::Op& op : s.ops) note(op);
  for (auto* places : {&last_use_, &last_attended_})
    for (auto& at : *places)
      if (at) *at = *at - moved_;
  step_ = moved_;
  moved_ = {};
}

Seconds KernelPricer::operator()(const StepOutline::Op& op) {
  const double hot = device_.cpu ? 0 : hot_share(op);
  Priced& p = priced_[static_cast<std::size_t>(op.kind)];
  if (p.hot != hot) {
    p.time = std::visit([&](const auto& k) { return time(k, p.cost, hot); }, kind(op).kernel) + extra_launches(p.cost);
    p.hot = hot;
  }
  return p.time;
}

LastAccess KernelPricer::last_access(const StepOutline::Op& op) {
  LastAccess access{Bytes{INFINITY}, true};
  const auto since = [&](Bytes last, Bytes own) { access = {moved_ - last + own, last.value <= 0}; };
  const auto at = static_cast<std::size_t>(op.accessed);
  switch (kind(op).access) {
    case StepOutline::Accesses::weight: since(*last_use_[at], held_bytes(std::get<Gemm>(kind(op).kernel))); break;
    case StepOutline::Accesses::entries:
    case StepOutline::Accesses::stored_entries: since(last_attended_[at].value_or(moved_ - step_), {}); break;
    case StepOutline::Accesses::nothing: break;
  }
  note(op);
  return access;
}

Gemm KernelPricer::padded(Gemm k) const {
  const auto it = std::lower_bound(engine_.graph_sizes.begin(), engine_.graph_sizes.end(), k.rows);
  if (it != engine_.graph_sizes.end()) k.rows = *it;
  return k;
}

Seconds KernelPricer::time(const Gemm& logical, const OpCost& cost, double hot) {
  const Gemm k = padded(logical);
  for (const auto& [seen, seen_hot, t] : gemms_)
    if (seen == k && seen_hot == hot) return t;
  const Seconds t = kernel_time(device_, k, hot) + dequantising(device_, k, cost.weight_traffic);
  gemms_.push_back({k, hot, t});
  return t;
}

double KernelPricer::hot_share(const StepOutline::Op& op) {
  const bool weight = kind(op).access == StepOutline::Accesses::weight;
  double hot = 0;
  if (weight)
    if (const auto& last = last_use_[static_cast<std::size_t>(op.accessed)])
      hot = l2_share_left(device_, moved_ - *last);
  moved_ += outline_.work[static_cast<std::size_t>(op.kind)].bytes();
  if (weight) last_use_[static_cast<std::size_t>(op.accessed)] = moved_;
  return hot;
}

void KernelPricer::note(const StepOutline::Op& op) {
  const StepOutline::Kind& k = kind(op);
  if (k.access == StepOutline::Accesses::weight) {
    moved_ += held_bytes(std::get<Gemm>(k.kernel));
    last_use_[static_cast<std::size_t>(op.accessed)] = moved_;
  } else if (k.access == StepOutline::Accesses::entries) {
    last_attended_[static_cast<std::size_t>(op.accessed)] = moved_;
  }
}

Seconds attention_time(const Device& d, const Attention& k, Span span, double launches, double cache_traffic,
                       double bytes_per_pair, const ReuseDistance& distance) {
  const Bytes cache = bytes_of(k.cache, 2.0 * k.kv_heads * k.head_dim * span.keys);
  const Bytes more = cache_traffic * cache + Bytes{bytes_per_pair * k.heads * span.pairs};
  return kernel_time(d, k, span, distance) + (launches - 1) * d.fits.copy.fixed +
         more / (d.fits.copy.bandwidth_share * d.bandwidth);
}

Copy with_traffic(Copy k, const OpCost& cost) {
  k.read = cost.traffic * k.read;
  k.written = cost.traffic * k.written;
  return k;
}

ReuseDistance distance_of_weights(const Device& d, const LastAccess& last, const StepOnCpu& s) {
  if (!std::isfinite(last.weights.value) || s.weights.value <= 0) return {last.weights, {}};
  const Seconds time =
      last.before && s.prompts.time.value > 0 ? 0.5 * (s.prompts.time + s.time) : (last.weights / s.weights) * s.time;
  return {last.weights, d.cpu->co_runner_traffic * time};
}

ReuseDistance distance_of_entries(const Device& d, const LastAccess& last, const StepOnCpu& s) {
  const double share = s.weights.value > 0 ? last.weights / s.weights : 1;
  const Seconds time = share * s.time + (last.before ? s.prompts.waiting * s.prompts.time : Seconds{});
  return {share * (s.weights + s.caches), d.cpu->co_runner_traffic * time};
}

Seconds gemm_time_on_cpu(const Device& d, const Gemm& k, double weight_traffic, const ReuseDistance& distance) {
  return cpu_time(*d.cpu, k, distance) + dequantising(d, k, weight_traffic);
}

// ---- where a kernel's time is counted

KernelKind kind_of(const Kernel& kernel) {
  struct Kind {
    KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
    KernelKind operator()(const Attention&) const { return KernelKind::attention; }
    KernelKind operator()(const ExpertMlp&) const { return KernelKind::experts; }
    KernelKind operator()(const Copy&) const { return KernelKind::elementwise; }
    KernelKind operator()(const AllReduce&) const { return KernelKind::communication; }
  };
  return std::visit(Kind{}, kernel);
}

}  // namespace draftline
