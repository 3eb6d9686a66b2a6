// SPDX-License-Identifier: Apache-2.0
#include "probes/host_probe.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/cpu/backend.h"
#include "decoder/random_weights.h"
#include "probes/samples.h"
#include "probes/stopwatch.h"
#include "probes/tiny_decoder.h"

namespace draftline {

namespace {

constexpr int kColumns = 16, kContext = 16, kAtOnce = 4;

// Times `whole` and the `part` of it that is no host work until the time budget is spent; the difference is the host's
// time.
template <class Prepare, class Whole, class Part>
void time_rest(MeasuredPoint& p, Seconds time_budget, ClockReference& reference, Prepare prepare, Whole whole,
               Part part) {
  constexpr int kMostSamples = 400, kFewest = 5;
  constexpr double kLeast = 1e-9;  // seconds; host time is never zero
  std::vector<TimedSample> samples;
  const double usual = reference.usual();
  const Stopwatch all;
  for (int i = 0; i < kMostSamples && (i < kFewest || all.elapsed() < time_budget); ++i) {
    prepare();
    whole();
    const double before = reference.measure();
    const Stopwatch both;
    for (int j = 0; j < kAtOnce; ++j) whole();
    const Seconds with = both.elapsed();
    prepare();
    part();
    const Stopwatch alone;
    for (int j = 0; j < kAtOnce; ++j) part();
    const Seconds without = alone.elapsed();
    samples.push_back({std::max(kLeast, (with - without).value / kAtOnce), before, reference.measure()});
  }
  summarise(p, samples, usual);
}

void probe_step(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int layers = p.at("layers"), sequences = p.at("sequences");
  RandomWeights weights(1);
  WeightStore store(DType::fp32);
  CpuBackend backend(store, weights, {.mode = CpuBackend::Mode::planned, .poison = false, .filled = true});
  Ops ops(backend, DType::fp32, sequences);
  const Transformer target(tiny_shape(layers, kColumns), store, ops, kContext + 4 * kAtOnce);
  OneToken method;
  Generator generator(ops, target, method);
  join_all(generator, sequences, kContext);
  const Tape* tape = nullptr;
  ops.on_segment = [&](const SegmentRun& run) { tape = run.tape; };
  generator.step();
  ops.on_segment = nullptr;
  if (count(tape->ops) != p.at("ops")) {
    p.skipped = "its step has another number of ops";
    return;
  }
  time_rest(
      p, time_budget, reference, [&] { generator.assume_length(kContext); }, [&] { generator.step(); },
      [&] { backend.finish(*tape); });
}

void probe_segment(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  RandomWeights weights(1);
  WeightStore store(DType::fp32);
  CpuBackend backend(store, weights, {.mode = CpuBackend::Mode::planned, .poison = false});
  Ops ops(backend, DType::fp32, 1);
  const Tape* tape = nullptr;
  ops.on_segment = [&](const SegmentRun& run) { tape = run.tape; };
  const Tensor x = ops.input("x", std::vector<int>(16, 0));
  const auto segment = [&] {
    ops.add(x, x);
    ops.flush();
  };
  ops.flush();
  segment();
  ops.on_segment = nullptr;
  time_rest(
      p, time_budget, reference, [] {}, segment, [&] { backend.finish(*tape); });
}

}  // namespace

std::vector<MeasuredPoint> host_grid() {
  std::vector<MeasuredPoint> all{{.op = "segment_host", .shape = {{"ops", 1}}}};
  for (const int layers : {1, 6, 24})
    for (const int sequences : {1, 4, 16})
      all.push_back({.op = "step_host",
                     .shape = {{"layers", layers}, {"sequences", sequences}, {"ops", ops_of_plain_step(layers)}}});
  return all;
}

MeasuredPoint probe_host(const MeasuredPoint& asked, Seconds time_budget, ClockReference& reference) {
  MeasuredPoint p = asked;
  if (p.op == "step_host") probe_step(p, time_budget, reference);
  else if (p.op == "segment_host") probe_segment(p, time_budget, reference);
  else p.skipped = "nothing that a host does";
  return p;
}

}  // namespace draftline
