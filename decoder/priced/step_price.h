// SPDX-License-Identifier: Apache-2.0
// What a step costs, from its tapes: two clocks, the host that issues kernels and the device that runs them in order.
// walk_step() prices every op. StepPrice is the same, folded into a function of the context that costs nanoseconds: per
// segment T = max_i(issue_i + device time from op i on), of which few i can win. On a CPU a step's time depends on
// itself: while the step runs, co-runners fill the last-level cache, in which it looks for its weights again.
#pragma once
#include <boost/container/small_vector.hpp>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "decoder/priced/step_breakdown.h"
#include "decoder/priced/step_outline.h"
#include "decoder/priced/varying_op.h"
#include "model/engines/speculation.h"

namespace draftline {

// Prices a step op by op. `lengths`: committed lengths of the batch.
StepBreakdown walk_step(std::span<const SegmentRun>, std::span<const int> lengths, const Device&, const Engine&,
                        Speculation);

// The device time of every op of walk_step(), one by one, for comparison with a clock.
struct OpPrice {
  std::string_view key;  // as op_key() names it
  Phase phase;
  Seconds time;
};
std::vector<OpPrice> op_prices(std::span<const SegmentRun>, std::span<const int> lengths, const Device&, const Engine&,
                               Speculation);

class StepPrice {
 public:
  // The price of a step whose sequences have equal lengths.
  StepPrice(const StepOutline&, const Device&, const Engine&, Speculation);
  StepPrice(std::span<const SegmentRun> runs, const Device& d, const Engine& e, Speculation speculation)
      : StepPrice(StepOutline(runs), d, e, speculation) {}

  Seconds operator()(double length, const PromptsBetween& = {}) const;  // mean committed length of the sequences
  StepBreakdown breakdown(double length) const;
  std::vector<Window> windows() const;                // over which it attends: the price has a kink where one fills
  double kernels() const { return kernels_; }         // launches of a step, by the engine's profile
  Work work(double length) const;                     // by the one accounting
  Seconds host_alone() const { return host_alone_; }  // if the device took no time
  Seconds host_least() const { return host_least_; }  // what stays exposed however slow the device is

 private:
  using ShapeTimes = boost::container::small_vector<Seconds, 16>;  // of each of shapes_
  // Ops that have one varying time. Attention's pairs and keys are affine in the mean length, unless it has a window;
  // other ops have none.
  struct Shape {
    VaryingOp op;
    KernelKind kind;
    Span empty{}, per_length{};
    Window window{};
    PassSpan span{};  // of a window
    bool operator==(const Shape&) const = default;
    Span at(double length) const {
      if (window.tokens > 0) return span.at(length, window);
      return {empty.pairs + per_length.pairs * length, empty.keys + per_length.keys * length};
    }
    Bytes cache_bytes(double length) const {  // of keys and values, where caches keep them between steps
      return std::visit([&](const auto& o) { return o.cache_bytes(at(length)); }, op);
    }
    const Attention* attention() const {  // null: another kernel
      return std::visit([](const auto& o) { return o.attention(); }, op);
    }
  };
  // issue + constant + sum of counts x time of each shape. `of_kind`: the kernels of the constant; the rest is the
  // host's.
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
    Seconds before{}, issue, constant{}, own{};  // before: all ops before it are issued. own: the kernel's time of the
                                                 // constant; the rest is the host's
    KernelKind kind;
    bool drafts = false;
    std::optional<std::size_t> shape{};  // of a varying op
  };

  // A run of drafting ops: when it can begin, when it ends, and its kernels' time alone. The rest is waiting.
  struct DraftRun {
    Segment begin, end;
    Line kernels;
  };

  ShapeTimes shape_times(double length, const PromptsBetween& = {}) const;
  Bytes cache_bytes(double length) const;  // keys and values that a step accesses, where caches outlast it
  static Seconds longest(const Segment&, const ShapeTimes&);
  Segment fold(std::span<const Issued> ops, Seconds issued) const;
  void find_draft_runs(std::span<const Issued> ops);
  void close(std::vector<Issued>& ops, Seconds issued);
  Seconds evaluate(const ShapeTimes&) const;
  using ByAccess = std::unordered_multimap<double, std::size_t>;  // shapes by the bytes of VaryingOnCpu::last_access
  std::size_t shape_index(const Shape&, ByAccess& known);

  const Device& device_;
  Seconds base_, sync_, host_alone_, host_least_;
  std::vector<Shape> shapes_;
  std::vector<Segment> segments_;
  std::vector<DraftRun> draft_runs_;
  EnumArray<Phase, PhaseKernels, kPhases> phases_;
  double kernels_ = 0;
  Bytes step_weights_;  // accessed by a step, where caches keep data between steps
  Work constant_work_;
};

}  // namespace draftline
