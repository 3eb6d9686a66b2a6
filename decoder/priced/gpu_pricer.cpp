// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/gpu_pricer.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/priced/engine_time.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

// Arithmetic that overlaps in part with the bytes that it needs.
static Seconds joined(Seconds bytes, Seconds arithmetic) {
  return Seconds{smooth_max(bytes.value, arithmetic.value, 2)};
}

GpuPricer::GpuPricer(const Device& d, const Engine& e, const StepOutline& outline)
    : Pricer(d, e, outline, [](const Kernel& k) { return std::holds_alternative<Attention>(k); }),
      times_(outline.kinds.size()),
      last_use_(at(outline.weights)),
      launch_overlap_(e.step_mode().target == Graphs::none ? 0 : e.launch_overlap_on(d.links.compute_capability)) {}

VaryingOp GpuPricer::varying(const StepOutline::Op& op) {
  const auto& k = std::get<Attention>(kind(op).kernel);
  const AttentionChoice choice = attention_choice(device_, engine_.attention, k.cache, form_of(k));
  AttentionCost of_engine = attention_cost(cost(op));
  of_engine.pair_work = engine_.pair_work;
  return VaryingOnGpu{k, choice, of_engine, overlapped(launch_part(device_, choice), cost(op))};
}

// The part of an op's launches that overlaps the preceding kernel. `launch`: that of the op's first kernel.
Seconds GpuPricer::overlapped(Seconds launch, const OpCost& cost) const {
  return launch_overlap_ * std::max(launch + (cost.launches - 1) * launch_time(device_), Seconds{});
}

Seconds VaryingOnGpu::time(const Device& d, const Span& span, const StepOnCpu&) const {
  Seconds t = gpu_time(d, choice, kernel, span, CacheState::in_memory);
  if (cost.pair_work > 0) t = joined(t, cost.arithmetic(kernel, span) / d.peak_of(DType::fp32));
  return at_power_limit(d, work(kernel, span), kernel.activations, t) + (cost.launches - 1) * launch_time(d) +
         cost.extra_bytes(kernel, span) / copy_bandwidth(d) - overlapped;
}

// The time of a kernel with all of an op's launches.
struct GpuPricer::TimeOf {
  GpuPricer& pricer;
  const OpCost& cost;
  double l2_hit_share;

  const Device& device() const { return pricer.device_; }
  Seconds launched(Seconds t) const { return t + (cost.launches - 1) * launch_time(device()); }
  template <class K>
  Seconds launched(Seconds t, const K& k) const {
    return launched(t) - pricer.overlapped(launch_part(device(), k), cost);
  }
  Seconds operator()(const Gemm& k) const { return launched(pricer.time(k, cost, l2_hit_share), k); }
  Seconds operator()(const Copy& k) const { return launched(gpu_time(device(), with_traffic(k, cost)), k); }
  Seconds operator()(const CollectiveCall& k) const { return launched(pricer.communication(k)); }
  Seconds operator()(const ExpertMlp& logical) const {
    const ExpertMlp k = pricer.in_engine(logical);
    const ExpertFit* fit = expert_fit(device(), operands_of(k)).fit;
    if (fit == nullptr) return launched(gpu_time(device(), k), k);
    // The measured time of a layer of experts holds its launches.
    const Seconds longer = cost.fixed ? *cost.fixed - fit->fixed : Seconds{};
    return at_power_limit(device(), work(k), k.activations, gpu_time(device(), k)) + longer -
           pricer.launch_overlap_ * launch_part(device(), k);
  }
  Seconds operator()(const CausalConvolution& k) const { return launched(gpu_time(device(), k), k); }
  Seconds operator()(const DeltaRule& k) const { return launched(gpu_time(device(), k), k); }
  Seconds operator()(const SelectiveScan& k) const { return launched(gpu_time(device(), k), k); }
  Seconds operator()(const StreamMix& k) const { return launched(gpu_time(device(), k), k); }
  Seconds operator()(const Attention&) const { raise_bug("attention varies with the context"); }
};

Seconds GpuPricer::time(const StepOutline::Op& op) {
  const double hits = l2_hit_share(op);
  KindTime& last = times_[at(op.kind)];
  if (last.l2_hit_share != hits) last = {hits, std::visit(TimeOf{*this, cost(op), hits}, kind(op).kernel)};
  return last.time;
}

ExpertMlp GpuPricer::in_engine(ExpertMlp k) const {
  k.router_fp32 = k.router_fp32 && !engine_.options.tf32;
  for (const ExpertPadding& p : engine_.expert_padding)
    if (p.format.weights == k.weights && p.format.scaling() == k.scaling &&
        p.applies(device_.links.compute_capability, k.ranks)) {
      k.row_multiple = p.rows;
      break;
    }
  return k;
}

Seconds GpuPricer::time(const Gemm& logical, const OpCost& cost, double l2_hit_share) {
  const Gemm k = padded(logical);
  for (const auto& [seen, seen_share, t] : gemms_)
    if (seen == k && seen_share == l2_hit_share) return t;
  const Seconds t = at_power_limit(device_, work(k), k.activations, product(k, l2_hit_share)) +
                    dequantising(k, cost.weight_traffic, copy_bandwidth(device_));
  gemms_.push_back({k, l2_hit_share, t});
  return t;
}

Seconds GpuPricer::product(const Gemm& k, double l2_hit_share) const {
  const bool by_row = !engine_.row_work.empty() && (!engine_.few_rows || k.rows <= *engine_.few_rows);
  if (!by_row) return gpu_time(device_, k, l2_hit_share);
  Gemm one = k;
  one.rows = 1;
  const Seconds fixed = gemm_fit(device_, operands_of(k)).fit.fixed,
                bytes = gpu_time(device_, one, l2_hit_share) - fixed;
  const Flops arithmetic{work_of_rows(engine_.row_work, k.rows) * k.count * k.in * k.out};
  return fixed + joined(bytes, arithmetic / device_.peak_of(DType::fp32));
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

}  // namespace draftline
