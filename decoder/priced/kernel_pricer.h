// SPDX-License-Identifier: Apache-2.0
// What the walk over a step and its fold share: what an engine makes of an op, the device's time of its kernel, the
// host's time before it.
#pragma once
#include <algorithm>
#include <optional>

#include "decoder/priced/step_breakdown.h"
#include "decoder/priced/step_outline.h"
#include "decoder/priced/varying_op.h"
#include "model/engines/speculation.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

// What an engine makes of a step's ops, and the device's time of those that depend on neither the context nor the step
// as a whole. Walks a step in order, so that weights accessed again before L2 has evicted them are read from L2. On a
// CPU, whose caches may hold a small network from step to step, the walk starts where the step before it ended;
// activations lie where those before them lay, so they push nothing out.
class KernelPricer {
 public:
  KernelPricer(const Device&, const Engine&, const StepOutline&);
  const OpCost& cost(const StepOutline::Op& op) const { return priced_[static_cast<std::size_t>(op.kind)].cost; }
  // Whether the op's time varies: that of attention does, and on a CPU that of a GEMM, and of an op that reads or
  // writes lines last accessed a step ago.
  bool varies(const StepOutline::Op& op) const { return priced_[static_cast<std::size_t>(op.kind)].varies; }
  VaryingOp varying(const StepOutline::Op&);    // of an op that varies; each is asked once, in order
  Seconds operator()(const StepOutline::Op&);   // of any other op
  Bytes step_weights() const { return step_; }  // bytes that a step accesses on a CPU

 private:
  struct Priced {  // of a kind of op; time: with `hot` of its weights in L2, as they were last
    OpCost cost;
    bool varies = false;
    std::optional<double> hot{};
    Seconds time{};
  };
  Seconds time(const Gemm&, const OpCost&, double hot);
  Seconds time(const Copy&, const OpCost&, double);
  Seconds time(const CollectiveCall&, const OpCost&, double);
  Seconds time(const ExpertMlp&, const OpCost&, double);
  Seconds time(const CausalConvolution& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const DeltaRule& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const Attention&, const OpCost&, double) { return {}; }
  double hot_share(const StepOutline::Op&);  // of an op's weights: still in L2
  // A kernel's time as a node of a graph: it starts while the one before it ends, but none is faster than its bytes at
  // the memory's bandwidth.
  Seconds overlapped(Seconds apart, const StepOutline::Op&) const;
  const StepOutline::Kind& kind(const StepOutline::Op& op) const {
    return outline_.kinds[static_cast<std::size_t>(op.kind)];
  }
  int padded(int rows) const;  // to those of the engine's graphs
  Gemm padded(Gemm) const;
  // Bytes of weights accessed since this op's were, its own included, or, of an op on a KV cache, since attention last
  // read the entries of its layer.
  LastAccess last_access(const StepOutline::Op&);
  void note(const StepOutline::Op&);

  struct GemmTime {
    Gemm kernel;
    double hot;
    Seconds time;
  };
  const Device& device_;
  const bool is_cpu_;
  const Engine& engine_;
  const StepOutline& outline_;
  std::vector<Priced> priced_;  // of each kind
  std::vector<GemmTime> gemms_;
  std::vector<std::optional<Bytes>> last_use_, last_attended_;  // of each weight; of each layer
  Bytes moved_, step_;
  Seconds saved_;  // by each kernel, of what the engine's graphs save in a layer
};

KernelKind kind_of(const Kernel&);

// Whether it is the kernel that each layer of a pass has once: its attention, without an indexer's, or its delta rule.
inline bool is_of_layer(const Kernel& kernel) {
  const auto* attention = std::get_if<Attention>(&kernel);
  return attention != nullptr ? !attention->scores() : std::holds_alternative<DeltaRule>(kernel);
}

// Rows of the kernel that a layer has once, over all sequences.
inline int rows_of_layer(const Kernel& kernel) {
  const auto* attention = std::get_if<Attention>(&kernel);
  return attention != nullptr ? attention->rows : std::get<DeltaRule>(kernel).rows;
}

// Host work of a step that no op stands for.
inline Seconds host_base(const Engine& e, Speculation speculation, const StepOutline& step) {
  if (speculation == Speculation::off) return e.step;
  const Seconds of_step = step.looks_up ? std::max(e.step_searching, e.step_speculating) : e.step_speculating;
  return of_step + e.launches_speculating * e.issue + step.trees * e.search;
}

// The device time that an engine adds to each layer beyond its kernels' own. It is added to the kernel that a layer has
// once.
class LayerTime {
 public:
  LayerTime(const Engine& e, const StepOutline& step)
      : of_one_row_(std::max(e.layer, Seconds{})),  // what is below 0, graphs save: it comes off each kernel
        of_rows_(e.layer_rows.value_or(of_one_row_)) {
    // Only a tree is committed by copies in the KV cache: a chain lies in place already.
    if (std::any_of(step.kinds.begin(), step.kinds.end(), [](const StepOutline::Kind& k) { return k.key == "commit"; }))
      verifying_ = e.layer_tree;
  }
  Seconds operator()(const Kernel& kernel, Phase phase) const {
    if (!is_of_layer(kernel)) return {};
    return (rows_of_layer(kernel) > 1 ? of_rows_ : of_one_row_) + (phase == Phase::verify ? verifying_ : Seconds{});
  }

 private:
  Seconds of_one_row_, of_rows_, verifying_;
};

// Host time of what precedes an op: its draft pass, its launches.
class Issue {
 public:
  explicit Issue(const Engine& e) : engine_(e) {}
  void start_segment(std::size_t ops) {
    issued_ = static_cast<double>(ops) * engine_.record;
    if (engine_.graphs || !engine_.overlap) issued_ += engine_.graph_launch;
    pass_ = -1;
  }
  Seconds before(int pass, Phase phase, const OpCost& cost) {
    const bool drafts = pass > pass_ && phase == Phase::draft;
    pass_ = std::max(pass, pass_);
    if (drafts) issued_ += engine_.draft_pass;
    waits_ = drafts ? engine_.draft_pass_exposed : Seconds{};
    if (!engine_.graphs && engine_.overlap) issued_ += (cost.launches + cost.host_launches) * engine_.issue;
    return issued_;
  }
  // What the device, or the one thread that is host and device, spends on the op just issued beside running it.
  Seconds beside(const OpCost& cost) const {
    return engine_.overlap ? waits_ : waits_ + (cost.launches + cost.host_launches) * engine_.issue;
  }
  void meet() { issued_ = {}; }  // both clocks meet: a blocking read inside a segment
  Seconds issued() const { return issued_; }

 private:
  const Engine& engine_;
  Seconds issued_, waits_;
  int pass_ = -1;
};

}  // namespace draftline
