// SPDX-License-Identifier: Apache-2.0
#include "model/cpu_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernel_time.h"

namespace draftline {

constexpr double kStoredBytes = 4;

Seconds CpuReach::byte_after(const Between& since, const std::array<Bytes, 3>& caches) const {
  Seconds t;
  for (std::size_t level = 0; level < beyond_byte.size(); ++level) {
    const bool shared = level + 1 == caches.size();
    const Bytes met = shared ? since.ours + since.others : since.ours;
    const double x = met / ((shared ? last_share : cache_share) * caches[level]), x4 = x * x * x * x;
    t += (1 - 1 / (1 + x4)) * beyond_byte[level];
  }
  return t;
}

// The first group of rows streams the weights from wherever they are; the next find the panel that was just met.
Seconds cpu_time(const CpuFit& fit, const Gemm& k, const Between& since) {
  if (k.rows <= 0 || k.in <= 0 || k.out <= 0) return {};
  const CpuGemmFit& f = fit.gemm;
  const double panels = (k.out + kCpuPanelColumns - 1) / kCpuPanelColumns, in = k.in;
  const double bytes = kStoredBytes * in * kCpuPanelColumns;  // of a panel
  const int groups = (k.rows + kCpuRowGroup - 1) / kCpuRowGroup, rest = k.rows - (groups - 1) * kCpuRowGroup;
  const auto group = [&](int rows, Seconds byte) {
    const Seconds arithmetic = in * f.step[static_cast<std::size_t>(rows - 1)] + f.tile;
    return smooth_max(arithmetic.value, bytes * byte.value, f.blend);
  };
  double one_panel = group(groups > 1 ? kCpuRowGroup : rest, f.reach.byte_after(since, fit.caches));
  if (groups > 1) {
    const Seconds near = f.reach.byte_after({Bytes{bytes}, {}}, fit.caches);
    one_panel += (groups - 2) * group(kCpuRowGroup, near) + group(rest, near);
  }
  return f.fixed + Seconds{panels * one_panel};
}

Bytes cpu_cache_bytes(const Attention& k, Span s) { return Bytes{kStoredBytes * 2 * k.kv_heads * k.head_dim * s.keys}; }

Seconds cpu_time(const CpuFit& fit, const Attention& k, Span s, const Between& since) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  const CpuAttentionFit& f = fit.attention;
  const double heads = k.heads, columns = k.head_dim, group = heads / k.kv_heads;
  const double rows = std::max(1.0, static_cast<double>(k.rows) / k.sequences);
  const double of_head = kStoredBytes * 2 * columns * s.keys / k.sequences, of_sequence = of_head * k.kv_heads;
  const auto byte_after = [&](double met) { return f.reach.byte_after({Bytes{met}, {}}, fit.caches); };
  const Seconds first = f.reach.byte_after(since, fit.caches);
  const Seconds byte = 1 / (rows * group) * first + (rows - 1) / (rows * group) * byte_after(of_sequence) +
                       (group - 1) / group * byte_after(of_head);
  return f.fixed + k.rows * heads * f.row +
         s.pairs * heads *
             (f.pair + columns * (columns / (columns + f.overlap) * f.pair_column + kStoredBytes * 2 * byte));
}

Seconds cpu_time(const CpuFit& fit, const Copy& k) {
  constexpr double kFlopsOfPairColumn = 4;
  const CpuElementFit& f = fit.elements;
  const auto& op = f.of[static_cast<std::size_t>(k.op)];
  const double bytes = 8 * kStoredBytes / bits_of(k.format) * (k.read + k.written).value;
  const double x = bytes / fit.caches[1].value, x4 = x * x * x * x;
  return op.fixed + bytes * (f.byte + (1 - 1 / (1 + x4)) * f.far_byte) + k.elements * op.element +
         k.flops.value / kFlopsOfPairColumn * fit.attention.pair_column;
}

// One row at a time, unvectorised: as many steps of a panel as there are weights met.
Seconds cpu_time(const CpuFit& fit, const ExpertMlp& k) {
  const double weights =
      static_cast<double>(k.hidden) * k.experts + 3.0 * k.per_token * k.hidden * static_cast<double>(k.intermediate);
  return fit.gemm.fixed + k.rows * weights * fit.gemm.step[0];
}

}  // namespace draftline
