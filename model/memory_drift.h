// SPDX-License-Identifier: Apache-2.0
// Drift: how fast the last-level cache (LLC) and memory of a shared CPU answer now, and how much of the LLC co-runners
// leave, beside how it was while the machine was probed. A clock reference can't see it, as it is arithmetic alone.
#pragma once
#include <optional>

#include "model/cpu_model.h"
#include "model/measured.h"

namespace draftline {

// Of one reading of the memory reference (probes/memory_reference): the times to read what fits the LLC, what does not,
// and, again and again, as much as the LLC holds, of which co-runners evict a part.
struct MemoryTimes {
  Seconds llc, memory;
  std::optional<Seconds> whole_llc = {};  // older files have none
};
MemoryTimes mean(const MemoryTimes&, const MemoryTimes&);
// What that part of the reference reads: matrices, each multiplied by one row.
inline constexpr int kMemoryReferenceColumns = 512;
int matrices_of_llc(Bytes llc);
// Of a measured file: the points `memory_reference`. None: an older file, or a GPU's.
std::optional<MemoryTimes> memory_times(const Measured&);

struct MemoryDrift {           // now, over while the machine was probed
  double llc = 1, memory = 1;  // times
  double capacity = 1;         // of the LLC: 0.5 to 2, as a reading says no more
};
MemoryDrift drift(const MemoryTimes& now, const MemoryTimes& probed, const CpuModel& as_probed);
// The machine as it is now: a byte from the LLC costs `llc` times as much, one from memory `memory` times, and the LLC
// keeps `capacity` times as much.
CpuModel drifted(CpuModel, const MemoryDrift&);

}  // namespace draftline
