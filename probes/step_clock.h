// SPDX-License-Identifier: Apache-2.0
// Times whole steps of a decoder on any device. Two decoders take turns, so that whatever slows the machine slows both.
// Runs of their own time every op of a step. As in probes, disturbed steps are dropped. Predictions are compared with
// these times, and no calibration reads them.
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

// Consecutive steps that were timed together.
struct TimedSteps {
  Seconds time;                          // of one step: the median, or the mean where steps differ
  double length = 0;                     // mean committed length before the steps
  double emitted = 0;                    // tokens per sequence and step, the bonus token included
  std::vector<int> steered = {};         // where steps differ: the indices of these steps in StepClock::history()
  bool warm = true;                      // no step did work that is done only once, such as capturing a graph
  std::optional<double> clock_mhz = {};  // of a GPU, right behind the steps
};

// How steps are timed on a device.
class StepMeter {
 public:
  virtual ~StepMeter() = default;
  // The time of a fixed piece of work now, usually and on average: another program or a lower clock makes it longer.
  virtual double pace() { return 1; }
  virtual double usual_pace() { return 1; }
  virtual double typical_pace() { return 1; }
  virtual Seconds time(const Stopwatch& since) = 0;  // the time of work that began when the stopwatch was made
  // Whether any work since the last call was of a kind that is done only once, such as capturing a graph.
  virtual bool first_of_its_kind() { return false; }
  using OnOp = std::function<void(const Tape&, std::size_t op, Seconds)>;
  // Calls `on_op` with the time of each op from now on; null: ops are not timed any more.
  virtual void clock_ops(OnOp on_op) = 0;
  virtual Seconds clock_time() = 0;  // the time that timing adds to an op
  // A GPU's clock now, in MHz, if the driver reports it; a power cap or heat lowers it.
  virtual std::optional<double> clock_mhz() { return {}; }
};

// Times steps on a CPU: this thread's work, its clock reference, and the interpreter's clock.
class CpuMeter : public StepMeter {
 public:
  CpuMeter(CpuBackend& backend, ClockReference& reference) : backend_(backend), reference_(reference) {}
  double pace() override { return reference_.measure(); }
  double usual_pace() override { return reference_.usual(); }
  double typical_pace() override { return reference_.typical(); }
  Seconds time(const Stopwatch& since) override { return since.elapsed(); }
  void clock_ops(OnOp on_op) override { backend_.on_op = std::move(on_op); }
  Seconds clock_time() override;  // the time of reading the clock twice

 private:
  CpuBackend& backend_;
  ClockReference& reference_;
};

class StepClock {
 public:
  // With a `context` every step does the same work, and each measurement starts at that committed length. Without one,
  // steps differ: texts grow, and the values that steer each step are recorded. No step is taken once a text exceeds
  // `longest` tokens.
  StepClock(Ops& ops, Generator& generator, StepMeter& meter, std::optional<int> context, int longest)
      : ops_(ops), generator_(generator), meter_(meter), context_(context), longest_(longest) {}

  static constexpr int kInARow = 16;  // steps before texts are cut back to their context
  void warm_up(int n);                // takes steps without timing them
  bool full() const;                  // whether texts are too long for a further step
  // Times n steps. One step before them is not counted, as it finds the caches as the other decoder left them.
  TimedSteps steps(int n);
  // What steered each step since the clock was made, counted or not: the answers of its decide() calls. Empty if steps
  // do not differ.
  const std::vector<std::vector<std::vector<int>>>& history() const { return history_; }

  struct OpTime {
    std::string key;
    Phase phase;
    Seconds time;  // of all ops of the kind in a step, without the clock's own time
    double calls = 0;
  };
  std::vector<OpTime> ops(int n);  // means over n steps

 private:
  double length() const;
  std::vector<int> one_step();
  template <class Step>
  bool measure(int n, Step);
  Ops& ops_;
  Generator& generator_;
  StepMeter& meter_;
  std::optional<int> context_;
  int longest_;
  std::vector<std::vector<std::vector<int>>> history_;
};

// Two decoders in turn: steps of plain decoding, then of the method, `turns` times or until texts have no room to grow.
// Each takes about `time_budget`, but at least one step. No turn: there was no room for one.
struct InTurn {
  std::vector<TimedSteps> plain, method;            // one element for each turn
  std::vector<std::vector<StepClock::OpTime>> ops;  // the ops of the method's steps
};
InTurn steps_in_turn(StepClock& plain, StepClock& method, int turns, Seconds time_budget);

}  // namespace draftline
