// SPDX-License-Identifier: Apache-2.0
// Times whole steps of a decoder on this machine, two decoders in turn so that what slows the machine slows both; and,
// in runs of their own, every op of a step. As in probes, what met a slower clock or a shared core is dropped. What is
// measured here is what predictions are compared with: no calibration reads it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/cpu/backend.h"
#include "decoder/generate.h"
#include "probes/cpu_probe.h"

namespace draftline {

// Steps that followed each other.
struct TimedSteps {
  Seconds time;                   // of one: the median, or the mean where steps differ
  double length = 0;              // mean committed length before them
  double emitted = 0;             // tokens of a sequence and step, the bonus included
  std::vector<int> steered = {};  // which steps of the clock's history, where steps differ
};

class StepClock {
 public:
  // `context`: every step does the same work, and each measurement starts at that committed length. None: steps differ,
  // what steers them is noted, and texts grow.
  StepClock(Ops& ops, Generator& generator, CpuBackend& backend, Yardstick& yardstick, std::optional<int> context)
      : ops_(ops), generator_(generator), backend_(backend), yardstick_(yardstick), context_(context) {}

  TimedSteps steps(int n);  // one more before them is not counted: it finds the caches as another left them
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
  void undisturbed(int n, Step);
  Ops& ops_;
  Generator& generator_;
  CpuBackend& backend_;
  Yardstick& yardstick_;
  std::optional<int> context_;
  std::vector<std::vector<std::vector<int>>> history_;
};

// `turns` times: steps of one, then of the other, each for about `patience` but at least one.
struct InTurn {
  std::vector<TimedSteps> plain, method;            // of each turn
  std::vector<std::vector<StepClock::OpTime>> ops;  // of the method's steps
};
InTurn steps_in_turn(StepClock& plain, StepClock& method, int turns, Seconds patience);

Seconds clock_time();  // that reading the clock twice takes

}  // namespace draftline
