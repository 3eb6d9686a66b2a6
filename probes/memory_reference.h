// SPDX-License-Identifier: Apache-2.0
// How fast a CPU's last-level cache (LLC) and memory answer: GEMMs of one row over weights that fit the LLC, and over
// weights that do not. As the clock reference it is read again and again, so that what is measured minutes apart on a
// shared machine can be compared (model/calibration/memory_drift).
#pragma once
#include <memory>
#include <vector>

#include "model/calibration/memory_drift.h"
#include "probes/cpu_probe.h"

namespace draftline {

class MemoryReference {
 public:
  // Sizes in bytes, as this_machine() has them. `reference` must outlive it: times are normalised to its clock.
  MemoryReference(double l2_cache, double last_level_cache, ClockReference& reference);
  ~MemoryReference();
  MemoryTimes read();  // some 10 ms where the LLC has 32 MB; the caches hold its weights afterwards
  // The points of a measured file, with the quartiles of all readings so far. At least one was taken.
  std::vector<MeasuredPoint> points() const;

 private:
  struct Weights;
  ClockReference& reference_;
  std::unique_ptr<Weights> llc_, memory_;
  std::vector<double> llc_times_, memory_times_;
};

// The references that are read while a CPU is measured.
struct CpuReferences {
  explicit CpuReferences(Seconds watch);  // as ClockReference's
  ClockReference clock;
  MemoryReference memory;
};

}  // namespace draftline
