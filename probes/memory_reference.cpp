// SPDX-License-Identifier: Apache-2.0
#include "probes/memory_reference.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "model/devices/fit_quality.h"
#include "probes/cpu_bench.h"
#include "probes/machine.h"

namespace draftline {

namespace {

constexpr int kMatrixColumns = 512;
constexpr double kMatrix = 4.0 * kMatrixColumns * kMatrixColumns;  // bytes

// The bytes that are read for the LLC: as many as a small network has, beyond what L2 holds, and well within the LLC,
// of which co-runners have a part.
double llc_bytes(double l2, double llc) {
  constexpr double kShare = 1.0 / 6, kOfL2 = 4, kOwnShare = 0.7;
  return std::min(std::max(kShare * llc, kOfL2 * l2), kOwnShare * llc);
}
// Half as much again as the LLC; a virtual machine may report the LLC of a whole host.
double memory_bytes(double llc) {
  constexpr double kBeyond = 1.5, kMost = 512e6;
  return std::min(kBeyond * llc, kMost);
}

}  // namespace

// Matrices that one row is multiplied by in turn.
struct MemoryReference::Weights {
  CpuBench bench{1};
  const Tape* tape = nullptr;
  int matrices;
  explicit Weights(double bytes) : matrices(std::max(1, to_int(bytes / kMatrix))) {
    const Tensor x = bench.random("x", 1, kMatrixColumns, 1);
    bench.finish();
    for (int i = 0; i < matrices; ++i)
      bench.ops.linear(x, bench.store.matrix("w" + std::to_string(i), kMatrixColumns, kMatrixColumns));
    tape = bench.finish();
    run();
  }
  void run() { bench.backend.finish(*tape); }
  double timed(int times, ClockReference& reference) {
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
      const double before = reference.measure();
      const Stopwatch watch;
      run();
      const TimedSample sample{watch.elapsed().value, before, reference.measure()};
      all.push_back(sample.normalised(reference.usual(), reference.typical()));
    }
    return quantile(all, 0.5);
  }
  MeasuredPoint point(const std::vector<double>& times) const {
    MeasuredPoint p{.op = "memory_reference", .shape = {{"kib", to_int(matrices * kMatrix / 1024)}}};
    p.low = Seconds{quantile(times, 0.25)};
    p.median = Seconds{quantile(times, 0.5)};
    p.high = Seconds{quantile(times, 0.75)};
    p.samples = count(times);
    return p;
  }
};

MemoryReference::MemoryReference(double l2_cache, double last_level_cache, ClockReference& reference)
    : reference_(reference),
      llc_(std::make_unique<Weights>(llc_bytes(l2_cache, last_level_cache))),
      memory_(std::make_unique<Weights>(memory_bytes(last_level_cache))) {}
MemoryReference::~MemoryReference() = default;

MemoryTimes MemoryReference::read() {
  constexpr int kOfMemory = 2, kOfLlc = 3;
  const double memory = memory_->timed(kOfMemory, reference_);
  llc_->run();
  const double llc = llc_->timed(kOfLlc, reference_);
  memory_times_.push_back(memory);
  llc_times_.push_back(llc);
  return {Seconds{llc}, Seconds{memory}};
}

std::vector<MeasuredPoint> MemoryReference::points() const {
  return {llc_->point(llc_times_), memory_->point(memory_times_)};
}

CpuReferences::CpuReferences(Seconds watch)
    : clock(watch), memory(this_machine().l2_cache, this_machine().last_level_cache, clock) {}

}  // namespace draftline
