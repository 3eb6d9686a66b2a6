// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/gpu_pricer.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/priced/engine_time.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

static bool communicates(const Kernel& k) { return std::holds_alternative<CollectiveCall>(k); }

// What an engine's graphs save in each layer, divided among its kernels but attention and communication.
static Seconds saved_by_kernel(const Engine& e, const StepOutline& step) {
  if (e.layer.value >= 0) return {};
  int layers = 0, kernels = 0;
  for (const StepOutline::Segment& s : step.segments)
    for (const StepOutline::Op& op : s.ops()) {
      const Kernel& k = step.kind(op).kernel;
      if (is_of_layer(k)) ++layers;
      else if (!communicates(k) && !std::holds_alternative<Attention>(k)) ++kernels;
    }
  return kernels == 0 ? Seconds{} : (-1.0 * layers / kernels) * e.layer;
}

GpuPricer::GpuPricer(const Device& d, const Engine& e, const StepOutline& outline)
    : Pricer(d, e, outline, [](const Kernel& k) { return std::holds_alternative<Attention>(k); }),
      times_(outline.kinds.size()),
      last_use_(at(outline.weights)),
      saved_(saved_by_kernel(e, outline)) {}

VaryingOp GpuPricer::varying(const StepOutline::Op& op) {
  const auto& k = std::get<Attention>(kind(op).kernel);
  return VaryingOnGpu{k, attention_choice(device_, engine_.attention, k.cache, form_of(k)), attention_cost(cost(op))};
}

Seconds VaryingOnGpu::time(const Device& d, const Span& span, const StepOnCpu&) const {
  return gpu_time(d, choice, kernel, span, CacheState::in_memory) + (cost.launches - 1) * launch_time(d) +
         cost.extra_bytes(kernel, span) / copy_bandwidth(d);
}

// The time of a kernel with all of an op's launches.
struct GpuPricer::TimeOf {
  GpuPricer& pricer;
  const OpCost& cost;
  double l2_hit_share;

  const Device& device() const { return pricer.device_; }
  Seconds launched(Seconds t) const { return t + (cost.launches - 1) * launch_time(device()); }
  Seconds operator()(const Gemm& k) const { return launched(pricer.time(k, cost, l2_hit_share)); }
  Seconds operator()(const Copy& k) const { return launched(gpu_time(device(), with_traffic(k, cost))); }
  Seconds operator()(const CollectiveCall& k) const { return launched(pricer.communication(k)); }
  Seconds operator()(const ExpertMlp& k) const {
    const Seconds t = gpu_time(device(), k);
    const ExpertFit* fit = expert_fit(device(), operands_of(k)).fit;
    const Seconds of_engine = cost.fixed && fit != nullptr ? t - fit->fixed + *cost.fixed : t;
    // The measured time of a layer of experts holds its launches.
    return device().gpu().experts ? of_engine : launched(of_engine);
  }
  Seconds operator()(const CausalConvolution& k) const { return launched(gpu_time(device(), k)); }
  Seconds operator()(const DeltaRule& k) const { return launched(gpu_time(device(), k)); }
  Seconds operator()(const Attention&) const { raise_bug("attention varies with the context"); }
};

Seconds GpuPricer::time(const StepOutline::Op& op) {
  const double hits = l2_hit_share(op);
  KindTime& last = times_[at(op.kind)];
  if (last.l2_hit_share != hits)
    last = {hits, overlapped(std::visit(TimeOf{*this, cost(op), hits}, kind(op).kernel), op)};
  return last.time;
}

Seconds GpuPricer::time(const Gemm& logical, const OpCost& cost, double l2_hit_share) {
  const Gemm k = padded(logical);
  for (const auto& [seen, seen_share, t] : gemms_)
    if (seen == k && seen_share == l2_hit_share) return t;
  const Seconds t = gpu_time(device_, k, l2_hit_share) + dequantising(k, cost.weight_traffic, copy_bandwidth(device_));
  gemms_.push_back({k, l2_hit_share, t});
  return t;
}

double GpuPricer::l2_hit_share(const StepOutline::Op& op) {
  const bool weight = kind(op).access == Accesses::weight;
  double share = 0;
  if (weight)
    if (const auto& last = last_use_[at(op.accessed)])
      share = l2_share_left(device_, std::get<Gemm>(kind(op).kernel), moved_ - *last);
  moved_ += outline_.work_of(op).bytes();
  if (weight) last_use_[at(op.accessed)] = moved_;
  return share;
}

Seconds GpuPricer::overlapped(Seconds alone, const StepOutline::Op& op) const {
  if (saved_.value <= 0 || communicates(kind(op).kernel)) return alone;
  const Seconds least = outline_.work_of(op).bytes() / device_.bandwidth;
  return std::min(alone, std::max(alone - saved_, least));
}

}  // namespace draftline
