// SPDX-License-Identifier: Apache-2.0
// Drift: how fast the last-level cache (LLC) and memory of a shared CPU answer now, beside how fast they did while the
// machine was probed. A clock reference can't see it, as it is arithmetic alone.
#pragma once
#include <optional>
#include <vector>

#include "model/cpu_model.h"
#include "model/measured.h"

namespace draftline {

// Of one reading of the memory reference (probes/memory_reference): the times to read what fits the LLC, and what does
// not.
struct MemoryTimes {
  Seconds llc, memory;
};
// Of a measured file: the two points `memory_reference`. None: an older file, or a GPU's.
std::optional<MemoryTimes> memory_times(const Measured&);

MemoryTimes mean(const MemoryTimes&, const MemoryTimes&);
// Of readings in the order of their time: each level is the median of five readings, the reading itself and the two on
// either side. A co-runner's burst of some milliseconds is in a reading, but not in what is timed for a second beside
// it.
std::vector<MemoryTimes> without_bursts(const std::vector<MemoryTimes>&);

struct MemoryDrift {  // times now over times while the machine was probed
  double llc = 1, memory = 1;
};
MemoryDrift drift(const MemoryTimes& now, const MemoryTimes& probed);
// The machine as it is now: each byte from the LLC or from memory costs as many times as much.
CpuModel drifted(CpuModel, const MemoryDrift&);

}  // namespace draftline
