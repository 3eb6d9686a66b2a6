// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/kernel_pricer.h"

#include <algorithm>

#include "model/kernels/operand_fits.h"

namespace draftline {

// ---- kernels

static Bytes held_bytes(const Gemm& k) { return bytes_of(DType::fp32, static_cast<double>(k.count) * k.in * k.out); }

// The copy with the bytes that an engine moves for it.
static Copy with_traffic(Copy k, const OpCost& cost) {
  k.read = cost.traffic * k.read;
  k.written = cost.traffic * k.written;
  return k;
}

static bool does_vary(const Kernel& kernel, bool on_cpu) {
  if (std::holds_alternative<Attention>(kernel)) return true;
  const auto* copy = std::get_if<Copy>(&kernel);
  return on_cpu && (std::holds_alternative<Gemm>(kernel) || (copy && copy->old_lines.value > 0));
}

static bool communicates(const Kernel& k) { return std::holds_alternative<CollectiveCall>(k); }

// What an engine's graphs save in each layer, divided among its kernels but attention and communication.
static Seconds saved_by_kernel(const Engine& e, const StepOutline& step) {
  if (e.layer.value >= 0) return {};
  int layers = 0, kernels = 0;
  for (const StepOutline::Segment& s : step.segments)
    for (const StepOutline::Op& op : s.ops()) {
      const Kernel& k = step.kinds[static_cast<std::size_t>(op.kind)].kernel;
      if (is_of_layer(k)) ++layers;
      else if (!communicates(k) && !std::holds_alternative<Attention>(k)) ++kernels;
    }
  return kernels == 0 ? Seconds{} : (-1.0 * layers / kernels) * e.layer;
}

Seconds KernelPricer::overlapped(Seconds apart, const StepOutline::Op& op) const {
  if (saved_.value <= 0 || communicates(kind(op).kernel)) return apart;
  const Seconds least = outline_.work[static_cast<std::size_t>(op.kind)].bytes() / device_.bandwidth;
  return std::min(apart, std::max(apart - saved_, least));
}

KernelPricer::KernelPricer(const Device& d, const Engine& e, const StepOutline& outline)
    : device_(d),
      is_cpu_(d.cpu() != nullptr),
      engine_(e),
      outline_(outline),
      last_use_(static_cast<std::size_t>(outline.weights)),
      last_attended_(static_cast<std::size_t>(outline.layers)) {
  for (const StepOutline::Kind& k : outline.kinds)
    priced_.push_back({.cost = e.cost_of(k.key, k.phase == Phase::draft).of_heads(k.heads, k.kv_heads),
                       .varies = does_vary(k.kernel, is_cpu_)});
  if (!is_cpu_) {
    saved_ = saved_by_kernel(e, outline);
    return;
  }
  for (const StepOutline::Segment& s : outline.segments)
    for (const StepOutline::Op& op : s.ops()) note(op);
  for (auto* places : {&last_use_, &last_attended_})
    for (auto& at : *places)
      if (at) *at = *at - moved_;
  step_ = moved_;
  moved_ = {};
}

VaryingOp KernelPricer::varying(const StepOutline::Op& op) {
  const OpCost& c = cost(op);
  const LastAccess last = is_cpu_ ? last_access(op) : LastAccess{};
  const Kernel& kernel = kind(op).kernel;
  if (const auto* k = std::get_if<Attention>(&kernel))
    return {
        .kernel = *k,
        .last_access = last,
        .launches = c.launches,
        .cache_traffic = c.cache_traffic,
        .bytes_per_pair = c.bytes_per_pair.value,
        .attention = is_cpu_ ? AttentionChoice{} : attention_choice(device_, engine_.attention, k->cache, form_of(*k))};
  if (const auto* k = std::get_if<Gemm>(&kernel))
    return {.kernel = padded(*k), .last_access = last, .launches = c.launches, .weight_traffic = c.weight_traffic};
  return {.kernel = with_traffic(std::get<Copy>(kernel), c), .last_access = last, .launches = c.launches};
}

Seconds KernelPricer::operator()(const StepOutline::Op& op) {
  const double hot = is_cpu_ ? 0 : hot_share(op);
  Priced& p = priced_[static_cast<std::size_t>(op.kind)];
  if (p.hot != hot) {
    // The measured time of a layer of experts holds its launches.
    const bool launched = std::holds_alternative<ExpertMlp>(kind(op).kernel) && !is_cpu_ && device_.gpu().experts;
    const Seconds more_launches = launched ? Seconds{} : (p.cost.launches - 1) * launch_time(device_);
    p.time = std::visit([&](const auto& k) { return time(k, p.cost, hot); }, kind(op).kernel) + more_launches;
    p.time = overlapped(p.time, op);
    p.hot = hot;
  }
  return p.time;
}

Seconds KernelPricer::time(const Copy& k, const OpCost& cost, double) {
  return kernel_time(device_, with_traffic(k, cost));
}

Seconds KernelPricer::time(const CollectiveCall& logical, const OpCost&, double) {
  CollectiveCall k = logical;
  if (k.rows > 0) k.message = static_cast<double>(padded(k.rows)) / k.rows * k.message;
  return collective_time(device_.links, engine_.links, k, device_.name);
}

Seconds KernelPricer::time(const ExpertMlp& k, const OpCost& cost, double) {
  const Seconds t = kernel_time(device_, k);
  const ExpertFit* fit = is_cpu_ ? nullptr : expert_fit(device_, operands_of(k)).fit;
  return cost.fixed && fit != nullptr ? t - fit->fixed + *cost.fixed : t;
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

int KernelPricer::padded(int rows) const {
  const auto it = std::lower_bound(engine_.graph_sizes.begin(), engine_.graph_sizes.end(), rows);
  return it == engine_.graph_sizes.end() ? rows : *it;
}

Gemm KernelPricer::padded(Gemm k) const {
  k.rows = padded(k.rows);
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
      hot = l2_share_left(device_, std::get<Gemm>(kind(op).kernel), moved_ - *last);
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

// ---- where a kernel's time is counted

KernelKind kind_of(const Kernel& kernel) {
  struct Kind {
    KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
    KernelKind operator()(const Attention&) const { return KernelKind::attention; }
    KernelKind operator()(const ExpertMlp&) const { return KernelKind::experts; }
    KernelKind operator()(const Copy&) const { return KernelKind::elementwise; }
    KernelKind operator()(const CollectiveCall&) const { return KernelKind::communication; }
    KernelKind operator()(const CausalConvolution&) const { return KernelKind::elementwise; }
    KernelKind operator()(const DeltaRule&) const { return KernelKind::recurrence; }
  };
  return std::visit(Kind{}, kernel);
}

}  // namespace draftline
