// SPDX-License-Identifier: Apache-2.0
#include "model/memory_drift.h"

#include <algorithm>
#include <cmath>

#include "model/cpu_fit.h"

namespace draftline {

std::optional<MemoryTimes> memory_times(const Measured& m) {
  std::vector<const MeasuredPoint*> levels;
  for (const MeasuredPoint& p : m.points)
    if (p.op == "memory_reference" && p.skipped.empty()) levels.push_back(&p);
  std::ranges::sort(levels, {}, [](const MeasuredPoint* p) { return p->at("kib"); });
  if (levels.size() == 2) return MemoryTimes{levels[0]->median, levels[1]->median};
  if (levels.size() == 3) return MemoryTimes{levels[0]->median, levels[2]->median, levels[1]->median};
  return std::nullopt;
}

MemoryTimes mean(const MemoryTimes& a, const MemoryTimes& b) {
  const auto half = [](Seconds x, Seconds y) { return 0.5 * (x + y); };
  MemoryTimes m{half(a.llc, b.llc), half(a.memory, b.memory)};
  if (a.whole_llc && b.whole_llc) m.whole_llc = half(*a.whole_llc, *b.whole_llc);
  return m;
}

int matrices_of_llc(Bytes llc) {
  constexpr double kMatrix = 4.0 * kMemoryReferenceColumns * kMemoryReferenceColumns, kMost = 512e6;
  return std::max(1, static_cast<int>(std::min(llc.value, kMost) / kMatrix));
}

MemoryDrift drift(const MemoryTimes& now, const MemoryTimes& probed, const CpuModel& as_probed) {
  MemoryDrift d{now.llc / probed.llc, now.memory / probed.memory};
  if (!now.whole_llc || !probed.whole_llc) return d;
  const MeasuredPoint again{.op = "gemm",
                            .shape = {{"rows", 1},
                                      {"in", kMemoryReferenceColumns},
                                      {"out", kMemoryReferenceColumns},
                                      {"copies", matrices_of_llc(as_probed.caches[2])}}};
  const Seconds expected = (*now.whole_llc / *probed.whole_llc) * predicted(as_probed, again);
  double low = 0.5, high = 2;
  for (int i = 0; i < 40; ++i) {  // the more the LLC keeps, the shorter it takes
    d.capacity = std::sqrt(low * high);
    (predicted(drifted(as_probed, d), again) > expected ? low : high) = d.capacity;
  }
  return d;
}

CpuModel drifted(CpuModel m, const MemoryDrift& d) {
  for (CpuByteCost* c : {&m.gemm.reach, &m.attention.reach, &m.elements.lines}) {
    c->byte[1] = d.llc * c->byte[1];
    c->byte[2] = d.memory * c->byte[2];
    c->llc_share *= d.capacity;
  }
  m.attention.llc_start = d.llc * m.attention.llc_start;
  m.attention.memory_start = d.memory * m.attention.memory_start;
  m.elements.beyond_l2_byte = d.llc * m.elements.beyond_l2_byte;
  return m;
}

}  // namespace draftline
