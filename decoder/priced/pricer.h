// SPDX-License-Identifier: Apache-2.0
// The device time of a step's ops in an engine: the interface of the pricers of GPUs and CPUs. A pricer processes a
// step once, in order, because the content of caches depends on earlier accesses.
#pragma once
#include <memory>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/priced/step_breakdown.h"
#include "decoder/priced/step_outline.h"
#include "decoder/priced/varying_op.h"

namespace draftline {

class Pricer {
 public:
  virtual ~Pricer() = default;
  const OpCost& cost(const StepOutline::Op& op) const { return kinds_[at(op.kind)].cost; }
  bool varies(const StepOutline::Op& op) const { return kinds_[at(op.kind)].varies; }
  // Each op is priced once, in order, by one of these two: varying ops, and others.
  virtual VaryingOp varying(const StepOutline::Op&) = 0;
  virtual Seconds time(const StepOutline::Op&) = 0;
  virtual Bytes step_weights() const { return {}; }  // bytes that a step accesses, if caches keep data between steps

 protected:
  // `varies`: whether the time of a kernel varies on this kind of device.
  Pricer(const Device&, const Engine&, const StepOutline&, bool (*varies)(const Kernel&));
  const StepOutline::Kind& kind(const StepOutline::Op& op) const { return outline_.kind(op); }
  Gemm padded(Gemm) const;  // with rows padded to the sizes of the engine's graphs
  Seconds communication(CollectiveCall) const;

  const Device& device_;
  const Engine& engine_;
  const StepOutline& outline_;

 private:
  struct PricedKind {
    OpCost cost;
    bool varies;
  };
  int padded(int rows) const;
  std::vector<PricedKind> kinds_;
};

// The pricer of the device's kind. The arguments must outlive it.
std::unique_ptr<Pricer> pricer(const Device&, const Engine&, const StepOutline&);

// The copy with the bytes that an engine moves.
Copy with_traffic(Copy, const OpCost&);
AttentionCost attention_cost(const OpCost&);

KernelKind kind_of(const Kernel&);

}  // namespace draftline
