// SPDX-License-Identifier: Apache-2.0
#include "probes/step_clock.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <tuple>

#include "probes/stopwatch.h"

namespace draftline {

namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) { return Seconds{std::chrono::duration<double>(Clock::now() - start).count()}; }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

}  // namespace

double StepClock::length() const {
  const auto& lengths = generator_.session().lengths;
  return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
}

std::vector<int> StepClock::one_step() {
  const auto answers = static_cast<std::ptrdiff_t>(ops_.answers().size());
  auto emitted = generator_.step();
  if (!context_) history_.emplace_back(ops_.answers().begin() + answers, ops_.answers().end());
  return emitted;
}

// Steps until n of them met a free core at its full clock; after three times as many, those that met the least else.
// `step` does one and returns what is noted of it.
template <class Step>
void StepClock::undisturbed(int n, Step step) {
  constexpr int kMostTries = 3;
  constexpr double kPreempted = 1.03;
  if (context_) generator_.assume_length(*context_);
  one_step();
  std::vector<std::pair<double, std::function<void()>>> all;  // how far from the usual clock
  const double usual = yardstick_.usual();
  int good = 0;
  double before = yardstick_.measure();
  for (int i = 0; i < kMostTries * n && good < n; ++i) {
    const auto start = Clock::now();
    const Stopwatch own;
    auto keep = step();
    const double lost = since(start) / own.elapsed(), after = yardstick_.measure();
    const double slower = lost > kPreempted ? lost : 1;
    const TimedSample met{0, before * slower, after * slower};
    all.emplace_back(met.distance(usual), std::move(keep));
    good += met.met(usual);
    before = after;
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(std::max(good, (n + 1) / 2))));
  for (const auto& [clock, keep] : all) keep();
}

TimedSteps StepClock::steps(int n) {
  TimedSteps all;
  std::vector<double> times;
  undisturbed(n, [&]() -> std::function<void()> {
    const double before = length();
    const Stopwatch watch;
    const auto emitted = one_step();
    const Seconds took = watch.elapsed();
    return [&all, &times, this, before, took, emitted, at = static_cast<int>(history_.size()) - 1] {
      times.push_back(took.value);
      all.length += before;
      all.emitted += std::accumulate(emitted.begin(), emitted.end(), 0.0) / static_cast<double>(emitted.size());
      if (!context_) all.steered.push_back(at);
    };
  });
  const auto kept = static_cast<double>(times.size());
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
  const Seconds clock = clock_time();
  std::vector<Clocked> now;
  now.reserve(1 << 14);
  backend_.on_op = [&](const Tape& tape, std::size_t op, Seconds t) { now.push_back({&tape, op, t}); };
  std::vector<OpTime> kinds;
  std::map<std::pair<std::string_view, Phase>, std::vector<std::pair<double, int>>> by_kind;  // of each kept step
  std::size_t kept = 0;
  undisturbed(n, [&]() -> std::function<void()> {
    now.clear();
    one_step();
    return [&, step = now] {
      ++kept;
      for (const Clocked& c : step) {
        auto& steps = by_kind[{op_key(c.tape->ops[c.op], *c.tape), c.tape->phases[c.op]}];
        steps.resize(kept);
        steps.back().first += std::max(c.time - clock, Seconds{}).value;
        ++steps.back().second;
      }
    };
  });
  backend_.on_op = nullptr;
  for (auto& [kind, steps] : by_kind) {
    steps.resize(kept);
    std::vector<double> times;
    OpTime one{std::string(kind.first), kind.second, {}, 0};
    for (const auto& [time, calls] : steps) {
      times.push_back(time);
      one.calls += static_cast<double>(calls) / static_cast<double>(kept);
    }
    one.time = Seconds{context_ ? median(times)
                                : std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(kept)};
    kinds.push_back(one);
  }
  return kinds;
}

InTurn steps_in_turn(StepClock& plain, StepClock& method, int turns, Seconds patience) {
  constexpr int kMostSteps = 20, kMostClocked = 5;
  const auto in_patience = [&](const TimedSteps& one) {
    return std::clamp(static_cast<int>(patience / one.time), 1, kMostSteps);
  };
  const int plain_steps = in_patience(plain.steps(1)), method_steps = in_patience(method.steps(1));
  InTurn all;
  for (int i = 0; i < turns; ++i) {
    all.plain.push_back(plain.steps(plain_steps));
    all.method.push_back(method.steps(method_steps));
    all.ops.push_back(method.ops(std::min(method_steps, kMostClocked)));
  }
  return all;
}

Seconds clock_time() {
  constexpr int kReadings = 1000;
  std::vector<double> times;
  for (int i = 0; i < kReadings; ++i) times.push_back(since(Clock::now()).value);  // as the interpreter does
  return Seconds{median(times)};
}

}  // namespace draftline
