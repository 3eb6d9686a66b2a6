// SPDX-License-Identifier: Apache-2.0
// What a step costs, from its tapes: two clocks, the host that issues kernels and the device that runs them in
// order. walk_step() prices every op; StepPrice is the same, folded into a function of the context that
// costs nanoseconds: per segment T = max_i(issue_i + device time from op i on), of which few i can win. On a CPU a
// step's time stands on both sides: while it runs, co-runners fill the last-level cache, in which it looks for its weights again.
#pragma once
#include <array>
#include <boost/container/small_vector.hpp>
#include <span>
#include <variant>
#include <vector>

#include "decoder/priced/step_breakdown.h"
#include "decoder/priced/step_outline.h"
#include "model/device.h"
#include "model/host_time.h"

namespace draftline {

// A step, its ops priced one by one. `lengths`: committed lengths of the batch.
StepBreakdown walk_step(std::span<const SegmentRun>, std::span<const int> lengths, const Device&, const Engine&,
                        bool speculating);

// Device time of every op of the walk, one by one: for whoever compares them with a clock.
struct OpPrice {
  std::string_view key;  // as op_key() names it
  Phase phase;
  Seconds time;
};
std::vector<OpPrice> op_prices(std::span<const SegmentRun>, std::span<const int> lengths, const Device&, const Engine&,
                               bool speculating);

// Prompts that were read between the step before and this one: how long that took, and the share of this step's sequences that
// waited meanwhile. Co-runners fill a CPU's last-level cache in that time.
struct PromptsBetween {
  Seconds time;
  double waiting = 1;
};

// On a CPU: the bytes of weights that were accessed since an op's own weights, or the entries of its layer's KV cache, were;
// `before`: that was in the step before.
struct LastAccess {
  Bytes weights;
  bool before = false;
  bool operator==(const LastAccess&) const = default;
};

class StepPrice {
 public:
  // Sequences of equal length. `speculating`: the engine may lose its overlap then.
  StepPrice(const StepOutline&, const Device&, const Engine&, bool speculating);
  StepPrice(std::span<const SegmentRun> runs, int sequences, const Device& d, const Engine& e, bool speculating)
      : StepPrice(StepOutline(runs, sequences), d, e, speculating) {}

  Seconds operator()(double length, const PromptsBetween& = {}) const;  // mean committed length of the sequences
  StepBreakdown breakdown(double length) const;
  double kernels() const { return kernels_; }         // launches of a step, by the engine's profile
  Work work(double length) const;                     // by the one accounting
  Seconds host_alone() const { return host_alone_; }  // if the device took no time
  Seconds host_least() const { return host_least_; }  // what stays exposed however slow the device is

 private:
  using ShapeTimes = boost::container::small_vector<Seconds, 16>;  // of each of shapes_
  // One kind of kernel whose time depends on the context: attention, whose pairs and keys are affine in the mean length; on
  // a CPU also a GEMM, by how long the step takes, and what writes to a cache's old lines.
  struct Shape {
    std::variant<Attention, Gemm, Copy> kernel;
    LastAccess last_access;
    double launches, traffic;  // traffic: of the cache; of the weights
    double bytes_per_pair = 0, pairs = 0, pairs_per_length = 0, keys = 0, keys_per_length = 0;
    bool operator==(const Shape&) const = default;
    KernelKind kind() const { return kOfKernel[kernel.index()]; }
    static constexpr std::array kOfKernel{KernelKind::attention, KernelKind::gemm, KernelKind::elementwise};
    Span at(double length) const { return {pairs + pairs_per_length * length, keys + keys_per_length * length}; }
  };
  // issue + constant + sum of counts x time of each shape. `of_kind`: the kernels of the constant; the rest is the host's.
  struct Line {
    Seconds issue, constant;
    std::vector<int> counts;
    KindTimes of_kind{};
    Seconds at(const ShapeTimes& times) const {
      Seconds t = issue + constant;
      for (std::size_t g = 0; g < counts.size(); ++g) t += counts[g] * times[g];
      return t;
    }
  };
  using Segment = std::vector<Line>;
  // The kernels of a phase: those whose time no context changes, and how many there are of each shape.
  struct PhaseKernels {
    KindTimes constant{};
    std::vector<int> counts;
  };
  // An op of a segment that is being folded: when the host has issued it, how long it takes, or which shape it has.
  struct Issued {
    Seconds issue, constant, own;  // own: of the constant, the kernel's time; the rest is the host's
    KernelKind kind;
    int shape = -1;  // -1: none
  };

  ShapeTimes shape_times(double length, const PromptsBetween& = {}) const;
  ShapeTimes shape_times(double length, Seconds step, const PromptsBetween&) const;
  static Segment prune(Segment);
  void close(std::vector<Issued>& ops, Seconds issued);
  Seconds evaluate(const ShapeTimes&) const;
  std::size_t shape_index(const Shape&);

  const Device& device_;
  Seconds base_, sync_, host_alone_, host_least_;
  std::vector<Shape> shapes_;
  std::vector<Segment> segments_;
  std::array<PhaseKernels, kPhases> phases_;
  double kernels_ = 0;
  Bytes step_weights_;  // accessed by a step on a CPU
  Work constant_work_;
};

}  // namespace draftline
