// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/kernel_pricer.h"

#include <algorithm>

namespace draftline {

const OpCost& CostTable::operator()(const Op& op, const Tape& tape, Phase phase) {
  const std::string_view key = op_key(op, tape);
  const auto* attend = std::get_if<Attend>(&op);
  const int kv_heads = attend ? attend->cache.kv_heads : 1,
            heads = attend ? attend->q.cols / attend->cache.head_dim : 1;
  const bool drafting = phase == Phase::draft;
  for (const Known& k : known_)
    if (k.key.data() == key.data() && k.drafting == drafting && k.heads == heads && k.kv_heads == kv_heads)
      return k.cost;
  return known_
      .emplace_back(Known{key, drafting, heads, kv_heads, engine_.cost_of(key, drafting).of_heads(heads, kv_heads)})
      .cost;
}

// ---- kernels

static Bytes held_bytes(const Weight& w) { return bytes_of(DType::fp32, static_cast<double>(w.in) * w.out); }

// Weights of fewer bits that an engine writes out in 16 before it multiplies.
static Seconds dequantising(const Device& d, const Gemm& k, double weight_traffic) {
  if (weight_traffic <= 1) return {};
  return (weight_traffic - 1) * weight_bytes(k.weights, static_cast<double>(k.in) * k.out) /
         (d.fits.copy.bandwidth_share * d.bandwidth);
}

// Cache and layer that an op writes to or attends to.
static std::optional<std::pair<int, int>> layer_of(const Op& op) {
  if (const auto* attend = std::get_if<Attend>(&op)) return std::pair(attend->cache.id, attend->layer);
  if (const auto* append = std::get_if<RopeAppend>(&op)) return std::pair(append->cache.id, append->layer);
  return {};
}

KernelPricer::KernelPricer(const Device& d, const Engine& e, std::span<const SegmentRun> steps)
    : device_(d), engine_(e) {
  if (!device_.cpu) return;
  for (const SegmentRun& run : steps)
    for (const Op& op : run.tape->ops) note(op);
  for (auto& [weight, at] : last_use_) at = at - moved_;
  for (auto& [layer, at] : last_attended_) at = at - moved_;
  step_ = moved_;
  moved_ = {};
}

Seconds KernelPricer::operator()(const Op& op, const Kernel& kernel, const OpCost& cost) {
  const double hot = device_.cpu ? 0 : streamed(op, kernel);
  return std::visit([&](const auto& k) { return time(k, cost, hot); }, kernel) + extra_launches(cost);
}

LastAccess KernelPricer::last_access(const Op& op) {
  LastAccess access{Bytes{INFINITY}, true};
  const auto since = [&](Bytes last, Bytes own) { access = {moved_ - last + own, last.value <= 0}; };
  if (const auto weight = streamed_weight(op)) since(last_use_.at(weight->id), held_bytes(*weight));
  else if (const auto layer = layer_of(op)) {
    const auto it = last_attended_.find(*layer);
    since(it == last_attended_.end() ? moved_ - step_ : it->second, {});
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

double KernelPricer::streamed(const Op& op, const Kernel& kernel) {
  const Work w =
      std::holds_alternative<Attention>(kernel) ? Work{} : work(kernel, {});  // the cache is left out: constant
  const auto weight = streamed_weight(op);
  double hot = 0;
  if (weight) {
    if (const auto it = last_use_.find(weight->id); it != last_use_.end())
      hot = l2_share_left(device_, moved_ - it->second);
  }
  moved_ += w.bytes();
  if (weight) last_use_[weight->id] = moved_;
  return hot;
}

void KernelPricer::note(const Op& op) {
  if (const auto weight = streamed_weight(op)) {
    moved_ += held_bytes(*weight);
    last_use_[weight->id] = moved_;
  } else if (std::holds_alternative<Attend>(op)) {
    last_attended_[*layer_of(op)] = moved_;
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

int part_of(Phase phase, const Kernel& kernel) {
  return std::holds_alternative<AllReduce>(kernel) ? 3 : static_cast<int>(phase);
}

KernelKind kind_of(const Kernel& kernel) {
  struct Kind {
    KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
    KernelKind operator()(const ExpertMlp&) const { return KernelKind::gemm; }
    KernelKind operator()(const Attention&) const { return KernelKind::attention; }
    KernelKind operator()(const Copy&) const { return KernelKind::elementwise; }
    KernelKind operator()(const AllReduce&) const { return KernelKind::communication; }
  };
  return std::visit(Kind{}, kernel);
}

}  // namespace draftline
