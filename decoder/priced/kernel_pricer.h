// SPDX-License-Identifier: Apache-2.0
// What the walk over a step and its fold share: what an engine makes of an op, the device's time of its kernel, the host's time
// before it.
#pragma once
#include <cmath>
#include <optional>

#include "decoder/priced/step_price.h"
#include "model/kernel_time.h"

namespace draftline {

Copy with_traffic(Copy, const OpCost&);  // with the bytes that an engine adds

// What an engine makes of a step's ops, and the device's time of those that depend on neither the context nor the step as a
// whole. Walks a step in order, so that weights accessed again before L2 has evicted them are read from L2. On a CPU, whose caches may
// hold a small network from step to step, the walk starts where the step before it ended; activations lie where those before
// them lay, so they push nothing out.
class KernelPricer {
 public:
  KernelPricer(const Device&, const Engine&, const StepOutline&);
  const OpCost& cost(const StepOutline::Op& op) const { return priced_[static_cast<std::size_t>(op.kind)].cost; }
  // Of any op but attention and, on a CPU, a GEMM and what writes to lines last accessed a step ago.
  Seconds operator()(const StepOutline::Op&);
  Seconds extra_launches(const OpCost& cost) const { return (cost.launches - 1) * device_.fits.copy.fixed; }
  Gemm padded(Gemm) const;  // to the rows of the engine's graphs

  // On a CPU: bytes of weights that a step accesses; and those accessed since this op's were, its own included, or, of an
  // op on a KV cache, since attention last read the entries of its layer.
  Bytes step_weights() const { return step_; }
  LastAccess last_access(const StepOutline::Op&);

 private:
  struct Priced {  // of a kind of op; time: with `hot` of its weights in L2, as they were last
    OpCost cost;
    double hot = -1;
    Seconds time;
  };
  Seconds time(const Gemm&, const OpCost&, double hot);
  Seconds time(const Copy& k, const OpCost& cost, double) { return kernel_time(device_, with_traffic(k, cost)); }
  Seconds time(const AllReduce& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const ExpertMlp& k, const OpCost&, double) { return kernel_time(device_, k); }
  Seconds time(const Attention&, const OpCost&, double) { return {}; }
  double hot_share(const StepOutline::Op&);  // of an op's weights: still in L2
  const StepOutline::Kind& kind(const StepOutline::Op& op) const {
    return outline_.kinds[static_cast<std::size_t>(op.kind)];
  }
  void note(const StepOutline::Op&);

  struct GemmTime {
    Gemm kernel;
    double hot;
    Seconds time;
  };
  const Device& device_;
  const Engine& engine_;
  const StepOutline& outline_;
  std::vector<Priced> priced_;  // of each kind
  std::vector<GemmTime> gemms_;
  std::vector<std::optional<Bytes>> last_use_, last_attended_;  // of each weight; of each layer
  Bytes moved_, step_;
};

Seconds attention_time(const Device&, const Attention&, Span, double launches, double cache_traffic,
                       double bytes_per_pair, const ReuseDistance& distance);
// A step on a CPU: how long it takes, how many bytes it accesses, and the prompts that were read before it.
struct StepOnCpu {
  Seconds time;
  Bytes weights, caches;
  PromptsBetween prompts;
};
// Of an op's weights: co-runners had as large a share of the step's time as was accessed of its weights. A prompt accesses each
// weight too: on average half of its time, and half of the step's, lie between.
ReuseDistance distance_of_weights(const Device&, const LastAccess&, const StepOnCpu&);
// Of entries of a KV cache: as large a share of the step's caches was accessed as of its weights. A prompt accesses no entries
// of the sequences that wait.
ReuseDistance distance_of_entries(const Device&, const LastAccess&, const StepOnCpu&);
Seconds gemm_time_on_cpu(const Device&, const Gemm&, double weight_traffic, const ReuseDistance& distance);

// The time of a step on a CPU, where `time` tells it from how long it takes: the longer that is, the more of the LLC co-runners
// have filled meanwhile.
template <class Time>
Seconds fixed_point(const Device& d, Time time) {
  constexpr int kMost = 100;
  constexpr double kClose = 1e-10;
  Seconds t = time(Seconds{});
  if (!d.cpu) return t;
  for (int i = 0; i < kMost; ++i) {
    const Seconds next = time(t);
    if (std::abs((next - t).value) <= kClose * next.value) return next;
    t = next;
  }
  return t;
}

KernelKind kind_of(const Kernel&);

// Host work of a step that no op stands for.
inline Seconds host_base(const Engine& e, bool speculating) {
  return speculating ? e.step_speculating + e.launches_speculating * e.issue : e.step;
}

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
    if (pass > pass_) {
      pass_ = pass;
      if (phase == Phase::draft) issued_ += engine_.draft_pass;
    }
    if (!engine_.graphs && engine_.overlap) issued_ += (cost.launches + cost.host_launches) * engine_.issue;
    return issued_;
  }
  // What the one thread that is host and device does for an op beside running it.
  Seconds beside(const OpCost& cost) const {
    return engine_.overlap ? Seconds{} : (cost.launches + cost.host_launches) * engine_.issue;
  }
  void meet() { issued_ = {}; }  // both clocks meet: a blocking read inside a segment
  Seconds issued() const { return issued_; }

 private:
  const Engine& engine_;
  Seconds issued_;
  int pass_ = -1;
};

}  // namespace draftline
