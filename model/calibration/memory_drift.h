// SPDX-License-Identifier: Apache-2.0
// Drift: how fast the last-level cache (LLC) and memory of a shared CPU answer now, beside how fast they did while the
// machine was probed. A clock reference can't see it, as it is arithmetic alone.
#pragma once
#include <optional>
#include <vector>

#include "model/calibration/measured.h"
#include "model/devices/cpu_model.h"

namespace draftline {

// The memory times in a measured file: its two points `memory_reference`, which are medians of many readings. None in
// an older file, and in a GPU's.
std::optional<MemoryTimes> memory_times(const Measured&);

MemoryTimes mean(const MemoryTimes&, const MemoryTimes&);
// Takes bursts out of readings, which are in the order of their time: each level becomes the median of five readings,
// the reading itself and the two on either side. A co-runner's burst of some milliseconds is in a reading, but not in
// what is timed for a second beside it.
std::vector<MemoryTimes> without_bursts(const std::vector<MemoryTimes>&);
// Takes bursts out of what was read beside points or cells (their member `memory`), which are in the order of their
// time.
template <class Timed>
void take_out_bursts(std::vector<Timed>& all) {
  std::vector<MemoryTimes> read;
  for (const Timed& t : all)
    if (t.memory) read.push_back(*t.memory);
  read = without_bursts(read);
  auto next = read.begin();
  for (Timed& t : all)
    if (t.memory) t.memory = *next++;
}

struct MemoryDrift {  // times now over times while the machine was probed
  double llc = 1, memory = 1;
};
MemoryDrift drift(const MemoryTimes& now, const MemoryTimes& probed);
// The model of the machine as it is now: each byte from the LLC costs drift.llc times as much, and each byte from
// memory drift.memory times.
CpuModel drifted(CpuModel, const MemoryDrift&);

}  // namespace draftline
