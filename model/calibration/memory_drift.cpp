// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/memory_drift.h"

#include <algorithm>

#include "model/devices/fit_quality.h"

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

std::vector<MemoryTimes> without_bursts(const std::vector<MemoryTimes>& readings) {
  constexpr std::size_t kOnEitherSide = 2;
  std::vector<MemoryTimes> all;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const std::size_t from = i - std::min(i, kOnEitherSide), to = std::min(i + kOnEitherSide + 1, readings.size());
    std::vector<double> llc, memory;
    for (std::size_t j = from; j < to; ++j) {
      llc.push_back(readings[j].llc.value);
      memory.push_back(readings[j].memory.value);
    }
    all.push_back({Seconds{quantile(llc, 0.5)}, Seconds{quantile(memory, 0.5)}});
  }
  return all;
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
