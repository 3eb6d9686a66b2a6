// SPDX-License-Identifier: Apache-2.0
// How probes time an op of the CPU interpreter: the op is alone on a tape, which is run again and again, and the clock
// reference is read before and after each sample.
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

inline constexpr double kTolerance = 2e-4;  // for sums in fp32, relative to the size of the largest term

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

// How the runs of a point are grouped into samples.
struct SamplingPlan {
  int runs_per_round = 1;             // a sample holds whole rounds, such as one run for each copy of the weights
  std::function<void()> before = {};  // called before each sample, which is then a single run
};

// Times `run` until the time budget is spent. A run that is too short for the clock is repeated within a sample.
// Samples at another clock, or on a shared core, are discarded and counted; if all of them are, the nearest to the
// usual clock stay.
template <class Run>
void time_into(MeasuredPoint& p, Seconds time_budget, ClockReference& reference, Run run, SamplingPlan plan = {}) {
  constexpr std::size_t kMostSamples = 400;
  // Seconds of a sample; repeats; time budgets that may be spent before there are enough undisturbed samples.
  constexpr double kShortest = 5e-6, kMostRepeats = 100, kMostBudgets = 3;
  run();
  const double first = now();
  run();
  const double round = std::max((now() - first) * plan.runs_per_round, 1e-9);
  const int repeats = plan.before ? 1 : plan.runs_per_round * to_int(std::clamp(kShortest / round, 1.0, kMostRepeats));
  const double usual = reference.usual();
  std::vector<TimedSample> all;
  std::size_t good = 0;
  const double start = now();
  const auto more = [&] {
    const double spent = now() - start;
    if (all.size() < kLeastSamples) return true;
    return all.size() < kMostSamples &&
           spent < (good < kLeastSamples ? kMostBudgets * time_budget.value : time_budget.value);
  };
  while (more()) {
    if (plan.before) plan.before();
    const double before = reference.measure();
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) run();
    all.push_back({watch.elapsed().value, before, reference.measure()});
    good += all.back().undisturbed(usual);
  }
  const double typical = reference.typical();
  for (TimedSample& s : all) s.took = s.normalised(usual, typical) / repeats;
  summarise(p, all, usual);
}

inline std::vector<int> bits_of_floats(std::size_t n, std::uint64_t from) {
  std::vector<int> bits(n);
  for (std::size_t i = 0; i < n; ++i) bits[i] = std::bit_cast<int>(noise(from + i));
  return bits;
}

// An interpreter that records ops and runs their tapes again.
struct CpuBench {
  NoiseWeights weights;
  WeightStore store{DType::fp32};
  CpuBackend backend;
  Ops ops;
  const Tape* tape = nullptr;

  explicit CpuBench(int slots)
      : backend(store, weights, {.mode = CpuBackend::Mode::planned, .poison = false}),
        ops(backend, DType::fp32, slots) {
    ops.on_segment = [this](const SegmentRun& run) { tape = run.tape; };
  }
  Tensor random(const std::string& name, int rows, int cols, std::uint64_t from) {
    const Tensor t = ops.persistent(name, rows, cols, DType::fp32);
    ops.upload(t, bits_of_floats(at(rows) * at(cols), from));
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
