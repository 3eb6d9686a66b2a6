// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/cpu_pricer.h"

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

static Bytes held_bytes(const Gemm& k) { return bytes_of(DType::fp32, 1.0 * k.count * k.in * k.out); }

static bool varies_on_cpu(const Kernel& kernel) {
  const auto* copy = std::get_if<Copy>(&kernel);
  return std::holds_alternative<Attention>(kernel) || std::holds_alternative<Gemm>(kernel) ||
         (copy != nullptr && copy->old_lines.value > 0);
}

CpuPricer::CpuPricer(const Device& d, const CpuModel& cpu, const Engine& e, const StepOutline& outline)
    : Pricer(d, e, outline, varies_on_cpu),
      cpu_(cpu),
      times_(outline.kinds.size()),
      last_use_(at(outline.weights)),
      last_attended_(at(outline.layers)) {
  for (const StepOutline::Segment& s : outline.segments)
    for (const StepOutline::Op& op : s.ops()) note(op);
  for (auto* places : {&last_use_, &last_attended_})
    for (auto& place : *places)
      if (place) *place = *place - accessed_;
  step_ = accessed_;
  accessed_ = {};
}

void CpuPricer::note(const StepOutline::Op& op) {
  const StepOutline::Kind& k = kind(op);
  if (k.access == Accesses::weight) {
    accessed_ += held_bytes(std::get<Gemm>(k.kernel));
    last_use_[at(op.accessed)] = accessed_;
  } else if (k.access == Accesses::entries) {
    last_attended_[at(op.accessed)] = accessed_;
  }
}

LastAccess CpuPricer::last_access(const StepOutline::Op& op) {
  LastAccess access{Bytes{INFINITY}, true};
  const auto since = [&](Bytes last, Bytes own) { access = {accessed_ - last + own, last.value <= 0}; };
  switch (kind(op).access) {
    case Accesses::weight: since(*last_use_[at(op.accessed)], held_bytes(std::get<Gemm>(kind(op).kernel))); break;
    case Accesses::entries:
    case Accesses::stored_entries: since(last_attended_[at(op.accessed)].value_or(accessed_ - step_), {}); break;
    case Accesses::nothing: break;
  }
  note(op);
  return access;
}

VaryingOp CpuPricer::varying(const StepOutline::Op& op) {
  const LastAccess last = last_access(op);
  const Kernel& kernel = kind(op).kernel;
  if (const auto* k = std::get_if<Attention>(&kernel))
    return VaryingOnCpu{AttentionOnCpu{*k, attention_cost(cost(op))}, last};
  if (const auto* k = std::get_if<Gemm>(&kernel))
    return VaryingOnCpu{GemmOnCpu{padded(*k), cost(op).weight_traffic}, last};
  return VaryingOnCpu{with_traffic(std::get<Copy>(kernel), cost(op)), last};
}

// The reuse distance of the op's weights. Co-runners had as large a share of the step's time as was accessed of its
// weights. A prompt accesses each weight too: on average half of its time, and half of the step's, lie between.
static ReuseDistance distance_of_weights(const CpuModel& cpu, const LastAccess& last, const StepOnCpu& s) {
  if (!std::isfinite(last.weights.value) || s.weights.value <= 0) return {last.weights, {}};
  const Seconds time =
      last.before && s.prompts.time.value > 0 ? 0.5 * (s.prompts.time + s.time) : (last.weights / s.weights) * s.time;
  return {last.weights, cpu.co_runner_traffic * time};
}

// The reuse distance of entries of a KV cache. As large a share of the step's caches was accessed as of its weights. A
// prompt accesses no entries of the sequences that wait.
static ReuseDistance distance_of_entries(const CpuModel& cpu, const LastAccess& last, const StepOnCpu& s) {
  const double share = s.weights.value > 0 ? last.weights / s.weights : 1;
  const Seconds time = share * s.time + (last.before ? s.prompts.waiting * s.prompts.time : Seconds{});
  return {share * (s.weights + s.caches), cpu.co_runner_traffic * time};
}

Seconds VaryingOnCpu::time(const Device& d, const Span& span, const StepOnCpu& step) const {
  const CpuModel& cpu = *d.cpu();
  if (const auto* gemm = std::get_if<GemmOnCpu>(&op))
    return cpu_time(cpu, gemm->kernel, distance_of_weights(cpu, last_access, step)) +
           dequantising(gemm->kernel, gemm->weight_traffic, copy_bandwidth(cpu));
  const ReuseDistance distance = distance_of_entries(cpu, last_access, step);
  if (const auto* attention = std::get_if<AttentionOnCpu>(&op))
    return cpu_time(cpu, attention->kernel, span, distance) +
           attention->cost.extra_bytes(attention->kernel, span) / copy_bandwidth(cpu);
  return cpu_time(cpu, std::get<Copy>(op), distance);
}

Bytes VaryingOnCpu::cache_bytes(const Span& span) const {
  const Attention* k = attention();
  return k != nullptr ? cpu_cache_bytes(*k, span) : Bytes{};
}

struct CpuPricer::TimeOf {
  const CpuPricer& pricer;
  const OpCost& cost;

  template <class T>
  Seconds operator()(const T& k) const {
    return cpu_time(pricer.cpu_, k);
  }
  Seconds operator()(const Copy& k) const { return cpu_time(pricer.cpu_, with_traffic(k, cost)); }
  Seconds operator()(const CollectiveCall& k) const { return pricer.communication(k); }
  Seconds operator()(const Gemm&) const { raise_bug("a GEMM varies with what lies in the caches"); }
  Seconds operator()(const Attention&) const { raise_bug("attention varies with the context"); }
};

Seconds CpuPricer::time(const StepOutline::Op& op) {
  std::optional<Seconds>& known = times_[at(op.kind)];
  if (!known) known = std::visit(TimeOf{*this, cost(op)}, kind(op).kernel);
  return *known;
}

}  // namespace draftline
