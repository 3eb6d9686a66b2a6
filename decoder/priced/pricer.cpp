// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/pricer.h"

#include <algorithm>
#include <variant>

#include "decoder/priced/cpu_pricer.h"
#include "decoder/priced/gpu_pricer.h"

namespace draftline {

std::unique_ptr<Pricer> pricer(const Device& d, const Engine& e, const StepOutline& outline) {
  struct Chosen {
    const Device& device;
    const Engine& engine;
    const StepOutline& outline;
    std::unique_ptr<Pricer> operator()(const GpuModel&) const {
      return std::make_unique<GpuPricer>(device, engine, outline);
    }
    std::unique_ptr<Pricer> operator()(const CpuModel& cpu) const {
      return std::make_unique<CpuPricer>(device, cpu, engine, outline);
    }
  };
  return std::visit(Chosen{d, e, outline}, d.model);
}

Pricer::Pricer(const Device& d, const Engine& e, const StepOutline& outline, bool (*varies)(const Kernel&))
    : device_(d), engine_(e), outline_(outline) {
  kinds_.reserve(outline.kinds.size());
  for (const StepOutline::Kind& k : outline.kinds)
    kinds_.push_back({e.cost_of(k.key, k.phase == Phase::draft).of_heads(k.heads, k.kv_heads), varies(k.kernel)});
}

int Pricer::padded(int rows) const {
  const auto it = std::lower_bound(engine_.graph_sizes.begin(), engine_.graph_sizes.end(), rows);
  return it == engine_.graph_sizes.end() ? rows : *it;
}

Gemm Pricer::padded(Gemm k) const {
  k.rows = padded(k.rows);
  return k;
}

Seconds Pricer::communication(CollectiveCall k) const {
  if (k.rows > 0) k.message = 1.0 * padded(k.rows) / k.rows * k.message;
  return collective_time(device_.links, engine_.links, k, device_.name);
}

Copy with_traffic(Copy k, const OpCost& cost) {
  k.read = cost.traffic * k.read;
  k.written = cost.traffic * k.written;
  return k;
}

AttentionCost attention_cost(const OpCost& c) { return {c.launches, c.cache_traffic, c.bytes_per_pair.value}; }

KernelKind kind_of(const Kernel& kernel) {
  struct Kind {
    KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
    KernelKind operator()(const Attention&) const { return KernelKind::attention; }
    KernelKind operator()(const ExpertMlp&) const { return KernelKind::experts; }
    KernelKind operator()(const Copy&) const { return KernelKind::elementwise; }
    KernelKind operator()(const CollectiveCall&) const { return KernelKind::communication; }
    KernelKind operator()(const CausalConvolution&) const { return KernelKind::elementwise; }
    KernelKind operator()(const DeltaRule&) const { return KernelKind::recurrence; }
    KernelKind operator()(const SelectiveScan&) const { return KernelKind::recurrence; }
    KernelKind operator()(const StreamMix&) const { return KernelKind::elementwise; }
  };
  return std::visit(Kind{}, kernel);
}

}  // namespace draftline
