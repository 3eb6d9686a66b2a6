// SPDX-License-Identifier: Apache-2.0
#include "model/memory_drift.h"

#include <algorithm>

namespace draftline {

std::optional<MemoryTimes> memory_times(const Measured& m) {
  std::vector<const MeasuredPoint*> levels;
  for (const MeasuredPoint& p : m.points)
    if (p.op == "memory_reference" && p.skipped.empty()) levels.push_back(&p);
  if (levels.size() != 2) return std::nullopt;
  if (levels[0]->at("kib") > levels[1]->at("kib")) std::swap(levels[0], levels[1]);
  return MemoryTimes{levels[0]->median, levels[1]->median};
}

MemoryTimes mean(const MemoryTimes& a, const MemoryTimes& b) {
  return {0.5 * (a.llc + b.llc), 0.5 * (a.memory + b.memory)};
}

MemoryDrift drift(const MemoryTimes& now, const MemoryTimes& probed) {
  return {now.llc / probed.llc, now.memory / probed.memory};
}

CpuModel drifted(CpuModel m, const MemoryDrift& d) {
  for (CpuByteCost* c : {&m.gemm.reach, &m.attention.reach, &m.elements.lines}) {
    c->byte[1] = d.llc * c->byte[1];
    c->byte[2] = d.memory * c->byte[2];
  }
  m.attention.llc_start = d.llc * m.attention.llc_start;
  m.attention.memory_start = d.memory * m.attention.memory_start;
  m.elements.beyond_l2_byte = d.llc * m.elements.beyond_l2_byte;
  return m;
}

}  // namespace draftline
