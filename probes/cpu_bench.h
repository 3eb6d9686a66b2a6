// SPDX-License-Identifier: Apache-2.0
// How an op of the CPU interpreter is timed: an interpreter with that op alone on a tape, repeated beside a clock reference.
#pragma once
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "decoder/cpu/backend.h"
#include "decoder/ops.h"
#include "probes/cpu_probe.h"
#include "probes/probe_data.h"
#include "probes/samples.h"
#include "probes/stopwatch.h"

namespace draftline {

inline constexpr double kTolerance = 2e-4;  // of sums of fp32, relative to the largest term's size

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class NoiseWeights : public WeightSource {
 public:
  void load(const std::string& name, int, int, std::span<float> to) override {
    const std::uint64_t at = std::hash<std::string>{}(name) << 32;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = noise(at + i);
  }
};

// Times `run` until time_budget ends; what is shorter than the clock can tell is repeated within a sample. Samples that met
// another clock speed, or shared their core, are discarded and counted; where all did, the most usual stay. `round`: runs
// that make one; a sample holds whole ones. `before`: what comes before a sample, which then is one run.
struct Pace {
  int round = 1;
  std::function<void()> before = {};
};
template <class Run>
void time_into(MeasuredPoint& p, Seconds time_budget, ClockReference& reference, Run run, Pace pace = {}) {
  constexpr std::size_t kMostSamples = 400;
  constexpr double kShortest = 5e-6, kMostRepeats = 100, kMostTimeBudget = 3;
  run();
  const double first = now();
  run();
  const int repeats =
      pace.before ? 1
                  : pace.round * static_cast<int>(std::clamp(kShortest / std::max((now() - first) * pace.round, 1e-9),
                                                             1.0, kMostRepeats));
  const double usual = reference.usual();
  std::vector<TimedSample> all;
  std::size_t good = 0;
  const double start = now();
  const auto more = [&] {
    const double spent = now() - start;
    if (all.size() < kLeastSamples) return true;
    return all.size() < kMostSamples &&
           spent < (good < kLeastSamples ? kMostTimeBudget * time_budget.value : time_budget.value);
  };
  while (more()) {
    if (pace.before) pace.before();
    const double before = reference.measure();
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) run();
    all.push_back({watch.elapsed().value, before, reference.measure()});
    good += all.back().met(usual);
  }
  const double typical = reference.typical();
  for (TimedSample& s : all) s.took = s.at_typical(usual, typical) / repeats;
  summarise(p, all, usual);
}

inline std::vector<int> bits_of_floats(std::size_t n, std::uint64_t from) {
  std::vector<int> bits(n);
  for (std::size_t i = 0; i < n; ++i) bits[i] = std::bit_cast<int>(noise(from + i));
  return bits;
}

// An interpreter with one op on a tape of its own, and the means to repeat it.
struct CpuBench {
  NoiseWeights weights;
  WeightStore store{DType::fp32};
  CpuBackend backend;
  Ops ops;
  const Tape* tape = nullptr;

  explicit CpuBench(int slots)
      : backend(store, weights, {CpuBackend::Mode::planned, 0, false}), ops(backend, DType::fp32, slots) {
    ops.on_segment = [this](const SegmentRun& run) { tape = run.tape; };
  }
  Tensor random(const std::string& name, int rows, int cols, std::uint64_t from) {
    const Tensor t = ops.persistent(name, rows, cols, DType::fp32);
    ops.upload(t, bits_of_floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols), from));
    return t;
  }
  const Tape* finish() {
    ops.flush();
    return tape;
  }
  std::vector<float> value_of(const Tensor& result) {
    const Tensor kept = ops.persistent("kept", result.rows, result.cols, DType::fp32);
    ops.store(kept, result);
    ops.flush();
    return backend.read_floats(kept);
  }
};

inline bool close(double ours, double reference, double size) {
  return std::abs(ours - reference) <= kTolerance * size;
}

void probe_argmax(MeasuredPoint&, Seconds time_budget, ClockReference&);
void probe_top_k(MeasuredPoint&, Seconds time_budget, ClockReference&);
void probe_sample(MeasuredPoint&, Seconds time_budget, ClockReference&);

}  // namespace draftline
