// SPDX-License-Identifier: Apache-2.0
// The device's time of a step's ops, as an engine runs them: the interface of the pricers of GPUs and CPUs. A pricer
// walks over a step once, in order, because a device's caches hold what was accessed before.
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
  // Each op is priced once, in order: one that varies, or any other.
  virtual VaryingOp varying(const StepOutline::Op&) = 0;
  virtual Seconds time(const StepOutline::Op&) = 0;
  virtual Bytes step_weights() const { return {}; }  // that a step accesses, where caches keep data between steps

 protected:
  // `varies`: whether the time of a kernel varies on this kind of device.
  Pricer(const Device&, const Engine&, const StepOutline&, bool (*varies)(const Kernel&));
  const StepOutline::Kind& kind(const StepOutline::Op& op) const { return outline_.kind(op); }
  Gemm padded(Gemm) const;  // its rows padded to those of the engine's graphs
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

// The pricer of the device's kind. It refers to its arguments.
std::unique_ptr<Pricer> pricer(const Device&, const Engine&, const StepOutline&);

// The copy with the bytes that an engine moves for it.
Copy with_traffic(Copy, const OpCost&);
AttentionCost attention_cost(const OpCost&);

KernelKind kind_of(const Kernel&);

}  // namespace draftline
