// SPDX-License-Identifier: Apache-2.0
#include "model/cpu_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernel_time.h"

namespace draftline {

constexpr double kStoredBytes = 4;

Seconds cpu_time(const CpuFit& fit, const Gemm& k, double hot) {
  if (k.rows <= 0 || k.in <= 0 || k.out <= 0) return {};
  const CpuGemmFit& f = fit.gemm;
  const double panels = (k.out + kCpuPanelColumns - 1) / kCpuPanelColumns, in = k.in;
  const int groups = k.rows / kCpuRowGroup, rest = k.rows % kCpuRowGroup;
  double one_panel = groups * (in * f.step[kCpuRowGroup - 1].value + f.tile.value);
  if (rest > 0) one_panel += in * f.step[static_cast<std::size_t>(rest - 1)].value + f.tile.value;
  const double bytes = kStoredBytes * in * panels * kCpuPanelColumns;
  const double memory = bytes * (hot * f.cache_byte.value + (1 - hot) * f.memory_byte.value);
  return f.fixed + Seconds{smooth_max(panels * one_panel, memory, f.blend)};
}

Seconds cpu_time(const CpuFit& fit, const Attention& k, Span s, bool cold) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  const CpuAttentionFit& f = fit.attention;
  const double heads = k.heads, columns = k.head_dim, group = heads / k.kv_heads;
  const double rows = std::max(1.0, static_cast<double>(k.rows) / k.sequences);
  const double of_head = kStoredBytes * 2 * columns * s.keys / k.sequences, of_sequence = of_head * k.kv_heads;
  // What a byte costs that was last met so many bytes ago.
  const auto byte_after = [&](double distance) {
    Seconds t;
    for (std::size_t level = 0; level < f.beyond_byte.size(); ++level) {
      const double x = distance / (f.cache_share * fit.caches[level].value), x4 = x * x * x * x;
      t += x4 / (1 + x4) * f.beyond_byte[level];
    }
    return t;
  };
  const Seconds first =
      cold ? f.beyond_byte[0] + f.beyond_byte[1] + f.beyond_byte[2] : byte_after(of_sequence * k.sequences);
  const Seconds byte = 1 / (rows * group) * first + (rows - 1) / (rows * group) * byte_after(of_sequence) +
                       (group - 1) / group * byte_after(of_head);
  return f.fixed + k.rows * heads * f.row +
         s.pairs * heads *
             (f.pair + columns * (columns / (columns + f.overlap) * f.pair_column + kStoredBytes * 2 * byte));
}

// One row at a time, unvectorised: as many steps of a panel as there are weights met.
Seconds cpu_time(const CpuFit& fit, const ExpertMlp& k) {
  const double weights =
      static_cast<double>(k.hidden) * k.experts + 3.0 * k.per_token * k.hidden * static_cast<double>(k.intermediate);
  return fit.gemm.fixed + k.rows * weights * fit.gemm.step[0];
}

}  // namespace draftline
