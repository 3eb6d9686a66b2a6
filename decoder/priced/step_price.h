// SPDX-License-Identifier: Apache-2.0
// The time of a step from its tapes, with two clocks: the host issues kernels and the device runs them in order.
// walk_step() prices every op. StepPrice computes the same as a function of the context within nanoseconds: per segment
// T = max_i(issue_i + device time from op i on), where only few i can be the maximum. On a CPU a step's time depends on
// itself: while the step runs, other programs evict its weights from the last-level cache.
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

// The device time of every op of walk_step(), for comparison with measured times.
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
  std::vector<Window> windows() const;                // of attention; the price has a kink where a window fills
  double kernels() const { return kernels_; }         // launches of a step, by the engine's profile
  Work work(double length) const;                     // according to model/work
  Seconds host_alone() const { return host_alone_; }  // time if the device took none
  Seconds host_least() const { return host_least_; }  // the part that device work can't hide

 private:
  using ShapeTimes = boost::container::small_vector<Seconds, 16>;  // for each of shapes_
  // Ops with one common varying time. Attention's pairs and keys are affine in the mean length unless it has a window;
  // other ops have no pairs.
  struct Shape {
    VaryingOp op;
    KernelKind kind;
    Span empty{}, per_length{};
    Window window{};
    PassSpan span{};  // for windows
    bool operator==(const Shape&) const = default;
    Span at(double length) const {
      if (!window.reads_all()) return span.at(length, window);
      return {empty.pairs + per_length.pairs * length, empty.keys + per_length.keys * length};
    }
    Bytes cache_bytes(double length) const {  // of keys and values, if caches keep them between steps
      return std::visit([&](const auto& o) { return o.cache_bytes(at(length)); }, op);
    }
    const Attention* attention() const {  // null: another kernel
      return std::visit([](const auto& o) { return o.attention(); }, op);
    }
  };
  // issue + constant + sum of counts x time of each shape. `of_kind`: kernel time within the constant; the rest is host
  // time.
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
  // The kernels of a phase: constant times, and the number of kernels of each shape.
  struct PhaseKernels {
    KindTimes constant{};
    std::vector<int> counts;
  };
  // An op while a segment is converted: the time at which the host has issued it, and its time or its shape.
  struct Issued {
    Seconds before{}, issue, constant{}, own{};  // before: all ops before it are issued. own: the kernel's time of the
                                                 // constant; the rest is the host's
    KernelKind kind;
    bool drafts = false;
    std::optional<std::size_t> shape{};  // for a varying op
  };

  // Consecutive drafting ops: earliest begin, end, and kernel time. The rest is waiting.
  struct DraftRun {
    Segment begin, end;
    Line kernels;
  };

  ShapeTimes shape_times(double length, const PromptsBetween& = {}) const;
  Bytes cache_bytes(double length) const;  // keys and values that a step accesses, if caches keep data between steps
  static Seconds longest(const Segment&, const ShapeTimes&);
  Segment fold(std::span<const Issued> ops, Seconds issued) const;
  void find_draft_runs(std::span<const Issued> ops);
  void close(std::vector<Issued>& ops, Seconds issued);
  Seconds evaluate(const ShapeTimes&) const;
  using ByAccess = std::unordered_multimap<double, std::size_t>;  // shapes by the bytes of VaryingOnCpu::last_access
  std::size_t shape_index(const Shape&, ByAccess& known);

  const Device& device_;
  Seconds base_, sync_, host_alone_, host_least_;
  Seconds between_;  // the least time, while the host works on the next step
  std::vector<Shape> shapes_;
  std::vector<Segment> segments_;
  std::vector<DraftRun> draft_runs_;
  EnumArray<Phase, PhaseKernels, kPhases> phases_;
  double kernels_ = 0;
  Bytes step_weights_;  // accessed by a step, if caches keep data between steps
  Work constant_work_;
};

}  // namespace draftline
