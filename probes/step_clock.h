// SPDX-License-Identifier: Apache-2.0
// Times whole steps of a decoder on this machine, on whatever device it runs, two decoders in turn so that what slows the
// machine slows both; and, in runs of their own, every op of a step. As in probes, what was disturbed is dropped. What is
// measured here is what predictions are compared with: no calibration reads it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/cpu/backend.h"
#include "decoder/generate.h"
#include "probes/cpu_probe.h"
#include "probes/stopwatch.h"

namespace draftline {

// Steps that followed each other.
struct TimedSteps {
  Seconds time;                   // of one: the median, or the mean where steps differ
  double length = 0;              // mean committed length before them
  double emitted = 0;             // tokens of a sequence and step, the bonus included
  std::vector<int> steered = {};  // which steps of the clock's history, where steps differ
  bool settled = true;            // none of them did what a step does but once
};

// The device that steps run on, and its clocks.
class StepMeter {
 public:
  virtual ~StepMeter() = default;
  // How long a fixed piece of work takes now, and usually: where they differ, another program or a lower clock slows both.
  virtual double pace() { return 1; }
  virtual double usual_pace() { return 1; }
  virtual double typical_pace() { return 1; }
  virtual Seconds time(const Stopwatch& since) = 0;
  // A step that did what it does but once, such as making a graph, since this was asked before.
  virtual bool first_of_its_kind() { return false; }
  using OnOp = std::function<void(const Tape&, std::size_t op, Seconds)>;
  virtual void clock_ops(OnOp) = 0;  // null: no more
  virtual Seconds clock_time() = 0;  // what the clock adds to an op
};

// A CPU: this thread, its reference, and the interpreter's own clock.
class CpuMeter : public StepMeter {
 public:
  CpuMeter(CpuBackend& backend, ClockReference& reference) : backend_(backend), reference_(reference) {}
  double pace() override { return reference_.measure(); }
  double usual_pace() override { return reference_.usual(); }
  double typical_pace() override { return reference_.typical(); }
  Seconds time(const Stopwatch& since) override { return since.elapsed(); }
  void clock_ops(OnOp told) override { backend_.on_op = std::move(told); }
  Seconds clock_time() override;  // that reading the clock twice takes

 private:
  CpuBackend& backend_;
  ClockReference& reference_;
};

class StepClock {
 public:
  // `context`: every step does the same work, and each measurement starts at that committed length. None: steps differ,
  // what steers them is noted, and texts grow; no step is taken beyond `longest` of them.
  StepClock(Ops& ops, Generator& generator, StepMeter& meter, std::optional<int> context, int longest)
      : ops_(ops), generator_(generator), meter_(meter), context_(context), longest_(longest) {}

  static constexpr int kInARow = 16;  // steps that a text grows by before it is as long as its context again
  void warm_up(int n);                // steps that are not timed
  bool full() const;                  // texts are too long for a step
  TimedSteps steps(int n);            // one more before them is not counted: it finds the caches as another left them
  // What steered each step since the clock was made, counted or not: the answers of its decide() calls. Empty: steady.
  const std::vector<std::vector<std::vector<int>>>& history() const { return history_; }

  struct OpTime {
    std::string key;
    Phase phase;
    Seconds time;  // of all ops of the kind in a step, the clock's own time taken off
    double calls = 0;
  };
  std::vector<OpTime> ops(int n);  // means over n steps

 private:
  double length() const;
  std::vector<int> one_step();
  template <class Step>
  bool undisturbed(int n, Step);
  Ops& ops_;
  Generator& generator_;
  StepMeter& meter_;
  std::optional<int> context_;
  int longest_;
  std::vector<std::vector<std::vector<int>>> history_;
};

// `turns` times, or until there is no room for a longer text: steps of one, then of the other, each for about `time_budget` but
// at least one. No turn: there was no room for one.
struct InTurn {
  std::vector<TimedSteps> plain, method;            // of each turn
  std::vector<std::vector<StepClock::OpTime>> ops;  // of the method's steps
};
InTurn steps_in_turn(StepClock& plain, StepClock& method, int turns, Seconds time_budget);

}  // namespace draftline
