// SPDX-License-Identifier: Apache-2.0
#include "probes/step_clock.h"

#include "core/int_indexed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

namespace draftline {

namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) { return Seconds{std::chrono::duration<double>(Clock::now() - start).count()}; }

double median(std::vector<double> v) {
  std::ranges::sort(v);
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

}  // namespace

double StepClock::length() const {
  const auto& lengths = generator_.session().lengths;
  return std::accumulate(lengths.begin(), lengths.end(), 0.0) / count(lengths);
}

std::vector<int> StepClock::one_step() {
  const auto answers = std::ssize(ops_.answers());
  auto emitted = generator_.step();
  if (!context_) history_.emplace_back(ops_.answers().begin() + answers, ops_.answers().end());
  return emitted;
}

void StepClock::warm_up(int n) {
  if (context_) generator_.assume_length(*context_);
  for (int i = 0; i < n && !full(); ++i) one_step();
}

bool StepClock::full() const {
  const auto& all = generator_.session().lengths;
  return *std::ranges::max_element(all) > longest_;
}

// Takes steps until n of them ran on a free core at its usual clock, or three times n; then the least disturbed are
// kept. `step` takes one step and returns a function that records it, given the factor by which its time is normalised.
// Returns false if any kept step did work that is done only once.
template <class Step>
bool StepClock::measure(int n, Step step) {
  constexpr int kMostTries = 3;
  constexpr double kPreempted = 1.03, kNotAgain = 1e3;
  warm_up(1);
  struct Tried {
    double distance;  // of its clock from the usual one
    std::function<void(double)> record;
    double factor;
  };
  std::vector<Tried> all;
  const double usual = meter_.usual_pace(), typical = meter_.typical_pace();
  int good = 0;
  double before = meter_.pace();
  meter_.first_of_its_kind();
  for (int i = 0; i < kMostTries * n && good < n && !full(); ++i) {
    if (context_ && i % kInARow == 0) generator_.assume_length(*context_);
    const auto start = Clock::now();
    const Stopwatch own;
    auto record = step();
    const Seconds took = since(start);
    const double lost = took / meter_.time(own), after = meter_.pace();
    const double slower = meter_.first_of_its_kind() ? kNotAgain : lost > kPreempted ? lost : 1;
    const TimedSample judged{.took = took.value, .before = before * slower, .after = after * slower};
    const TimedSample sample{.took = took.value, .before = before, .after = after};
    all.push_back({.distance = judged.distance(usual),
                   .record = std::move(record),
                   .factor = sample.normalised(usual, typical) / took.value});
    good += judged.undisturbed(usual);
    before = after;
  }
  std::ranges::stable_sort(all, [](const Tried& a, const Tried& b) { return a.distance < b.distance; });
  all.resize(std::min(all.size(), at(std::max(good, (n + 1) / 2))));
  for (const Tried& t : all) t.record(t.factor);
  return all.empty() || all.back().distance < std::log(kNotAgain) / 2;
}

TimedSteps StepClock::steps(int n) {
  TimedSteps all;
  std::vector<double> times;
  all.warm = measure(n, [&]() -> std::function<void(double)> {
    const double before = length();
    const Stopwatch watch;
    const auto emitted = one_step();
    const Seconds took = meter_.time(watch);
    return [&all, &times, this, before, took, emitted, at = count(history_) - 1](double factor) {
      times.push_back(factor * took.value);
      all.length += before;
      all.emitted += std::accumulate(emitted.begin(), emitted.end(), 0.0) / count(emitted);
      if (!context_) all.steered.push_back(at);
    };
  });
  all.clock_mhz = meter_.clock_mhz();
  if (times.empty()) return all;
  const double kept = count(times);
  all.length /= kept;
  all.emitted /= kept;
  all.time = Seconds{context_ ? median(times) : std::accumulate(times.begin(), times.end(), 0.0) / kept};
  return all;
}

std::vector<StepClock::OpTime> StepClock::ops(int n) {
  struct Clocked {
    const Tape* tape;
    std::size_t op;
    Seconds time;
  };
  const Seconds clock = meter_.clock_time();
  std::vector<Clocked> now;
  now.reserve(1 << 14);
  meter_.clock_ops([&](const Tape& tape, std::size_t op, Seconds t) { now.push_back({&tape, op, t}); });
  std::vector<OpTime> kinds;
  std::map<std::pair<std::string_view, Phase>, std::vector<std::pair<double, int>>> by_kind;  // of each kept step
  int kept = 0;
  measure(n, [&]() -> std::function<void(double)> {
    now.clear();
    one_step();
    return [&, step = now](double factor) {
      ++kept;
      for (const Clocked& c : step) {
        auto& steps = by_kind[{op_key(c.tape->ops[c.op], *c.tape), c.tape->phases[c.op]}];
        steps.resize(at(kept));
        steps.back().first += factor * std::max(c.time - clock, Seconds{}).value;
        ++steps.back().second;
      }
    };
  });
  meter_.clock_ops(nullptr);
  for (auto& [kind, steps] : by_kind) {
    steps.resize(at(kept));
    std::vector<double> times;
    OpTime one{.key = std::string(kind.first), .phase = kind.second, .time = {}};
    for (const auto& [time, calls] : steps) {
      times.push_back(time);
      one.calls += 1.0 * calls / kept;
    }
    one.time = Seconds{context_ ? median(times) : std::accumulate(times.begin(), times.end(), 0.0) / kept};
    kinds.push_back(one);
  }
  return kinds;
}

InTurn steps_in_turn(StepClock& plain, StepClock& method, int turns, Seconds time_budget) {
  constexpr int kMostSteps = 20, kMostClocked = 5;
  const auto within_budget = [&](const TimedSteps& one) {
    return one.time.value > 0 ? to_int(std::clamp(time_budget / one.time, 1.0, 1.0 * kMostSteps)) : 1;
  };
  const int plain_steps = within_budget(plain.steps(1)), method_steps = within_budget(method.steps(1));
  InTurn all;
  for (int i = 0; i < turns; ++i) {
    TimedSteps one = plain.steps(plain_steps), other = method.steps(method_steps);
    if (one.time.value <= 0 || other.time.value <= 0) break;  // full
    all.plain.push_back(std::move(one));
    all.method.push_back(std::move(other));
    all.ops.push_back(method.ops(std::min(method_steps, kMostClocked)));
  }
  return all;
}

Seconds CpuMeter::clock_time() {
  constexpr int kReadings = 1000;
  std::vector<double> times;
  for (int i = 0; i < kReadings; ++i) times.push_back(since(Clock::now()).value);  // as the interpreter does
  return Seconds{median(times)};
}

}  // namespace draftline
