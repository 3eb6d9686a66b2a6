// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/cpu_time.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

constexpr double kStoredBytes = 4, kLineBytes = kStoredBytes * kCpuPanelColumns;

std::array<double, 3> CpuByteCost::served_by(const ReuseDistance& distance, const std::array<Bytes, 3>& caches) const {
  const auto miss_rate = [](double x) { return 1 - 1 / (1 + x * x * x * x); };  // x: reuse distance over capacity
  const double l1 = miss_rate(distance.own / (cache_share * caches[0])),
               l2 = miss_rate(distance.own / (cache_share * caches[1])),
               llc = miss_rate((distance.own + distance.co_runners) / (llc_share * caches[2]));
  return {l1 * (1 - l2), l2 * (1 - llc), l2 * llc};
}

// Arithmetic and the bytes that it needs: loads from the LLC overlap with it, for the others it waits.
static double streamed(Seconds arithmetic, double bytes, const CpuByteCost& reach, const std::array<double, 3>& served,
                       double blend) {
  const auto& byte = reach.byte;
  return smooth_max(arithmetic.value, bytes * (served[1] * byte[1]).value, blend) +
         bytes * (served[0] * byte[0] + served[2] * byte[2]).value;
}

// The first group of rows streams the weights from the level that holds them; the next groups find the panel in L1.
Seconds cpu_time(const CpuModel& fit, const Gemm& k, const ReuseDistance& distance) {
  if (k.rows <= 0 || k.in <= 0 || k.out <= 0) return {};
  const CpuGemmFit& f = fit.gemm;
  const int panels = k.count * ((k.out + kCpuPanelColumns - 1) / kCpuPanelColumns);
  const double in = k.in, bytes = kStoredBytes * in * kCpuPanelColumns;  // of a panel
  const int groups = (k.rows + kCpuRowGroup - 1) / kCpuRowGroup, rest = k.rows - (groups - 1) * kCpuRowGroup;
  const auto group = [&](int rows, const ReuseDistance& here) {
    const Seconds arithmetic = in * f.step[at(rows - 1)] + f.tile;
    const auto served = f.reach.served_by(here, fit.caches);
    return streamed(arithmetic, bytes, f.reach, served, f.blend) + served[2] * f.memory_stall * arithmetic.value;
  };
  double one_panel = group(groups > 1 ? kCpuRowGroup : rest, distance);
  if (groups > 1) {
    const ReuseDistance near{Bytes{bytes}, {}};
    one_panel += (groups - 2) * group(kCpuRowGroup, near) + group(rest, near);
  }
  return f.fixed + Seconds{panels * one_panel};
}

Bytes cpu_cache_bytes(const Attention& k, Span s) {
  return Bytes{kStoredBytes * k.kv_heads * (k.head_dim + k.values()) * s.keys};
}

// Panels of `keys_each` keys that the rows of a sequence walk over: on average where each row sees one key more than
// the row before it, as in a chain. Smooth in the context.
static double mean_panels(double least, double most, double keys_each) {
  const auto sum = [&](double keys) {  // of all whole numbers of panels up to there
    const double whole = std::floor(keys / keys_each);
    return keys_each * whole * (whole + 1) / 2 + (keys - whole * keys_each) * (whole + 1);
  };
  return (sum(most) - sum(least)) / (most - least);
}

Seconds cpu_time(const CpuModel& fit, const Attention& k, Span s, const ReuseDistance& distance) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  const CpuAttentionFit& f = fit.attention;
  const int blocks = (k.values() + kCpuPanelColumns - 1) / kCpuPanelColumns;
  const double columns = k.head_dim;
  const double rows = std::max(1.0, 1.0 * k.rows / k.sequences), group = 1.0 * k.heads / k.kv_heads;
  const double keys = s.pairs / k.rows, of_group = rows * group;
  const double window = k.masked ? 1 : rows;  // how many lengths of keys there are: under a mask one
  const auto tile = [&](int together, const ReuseDistance& here) {
    const double at_once = together == 1 ? 4 : together == 2 ? 2 : 1, blocks_in_turn = std::ceil(blocks / at_once);
    // Its rows go as far as the one that sees most.
    const double most = keys + (k.masked ? 0 : (std::max(1.0, together / group) - 1) / 2);
    const auto panels = [&](double of) {
      return mean_panels(most - (window + 1) / 2, most + (window - 1) / 2, of * kCpuPanelColumns);
    };
    const double lines = columns * panels(1) + blocks * most, starts = 1 + blocks_in_turn;
    const auto served = f.reach.served_by(here, fit.caches);
    return streamed((columns * panels(at_once) + blocks_in_turn * most) * f.step, kLineBytes * lines, f.reach, served,
                    f.blend) +
           starts * (served[1] * f.llc_start + served[2] * f.memory_start).value;
  };
  const int tiles = static_cast<int>(std::ceil(of_group / kCpuRowGroup)),
            rest = static_cast<int>(std::ceil(of_group)) - (tiles - 1) * kCpuRowGroup;
  const ReuseDistance near{Bytes{kStoredBytes * (columns + k.values()) * keys}, {}};  // a head's keys and values
  double head = tile(tiles > 1 ? kCpuRowGroup : rest, distance);
  if (tiles > 1) head += (tiles - 2) * tile(kCpuRowGroup, near) + tile(rest, near);
  return f.fixed + k.rows * k.heads * f.row + s.pairs * k.heads * f.pair + Seconds{k.sequences * k.kv_heads * head};
}

Bytes cpu_lines_appended(int sequences, int rows, int kv_heads, int head_dim, int value_dim) {
  const double panels = sequences + (rows - sequences) / (1.0 * kCpuPanelColumns),  // on average, wherever a text ends
      blocks = (value_dim + kCpuPanelColumns - 1) / kCpuPanelColumns;
  return Bytes{kStoredBytes * kCpuPanelColumns * kv_heads * (panels * head_dim + rows * blocks)};
}

Seconds cpu_time(const CpuModel& fit, const Copy& k, const ReuseDistance& distance) {
  constexpr double kFlopsOfPairColumn = 4;  // of attention without a cache: its additions wait for each other
  const CpuElementFit& f = fit.elements;
  const auto& op = f.of[k.op];
  const double bytes = 8 * kStoredBytes / bits_of(k.format) * (k.read + k.written).value;
  const auto beyond = [&](Bytes cache) {
    const double x = Bytes{bytes} / cache, x4 = x * x * x * x;
    return 1 - 1 / (1 + x4);
  };
  const auto& line = f.lines.byte;
  const auto served = f.lines.served_by(distance, fit.caches);
  const Seconds slow =
      op.fixed +
      bytes * (f.byte + beyond(fit.caches[0]) * f.beyond_l1_byte + beyond(fit.caches[1]) * f.beyond_l2_byte) +
      k.elements * op.element + k.flops.value / kFlopsOfPairColumn * fit.gemm.step[0] +
      k.old_lines.value * (served[0] * line[0] + served[1] * line[1] + served[2] * line[2]);
  return slow < f.slow_for ? slow : f.slow_for + 1 / f.slow_clock * (slow - f.slow_for);
}

// One row at a time, unvectorised: as many steps of a panel as there are weights.
Seconds cpu_time(const CpuModel& fit, const ExpertMlp& k) {
  const double weights = 1.0 * k.routed_columns() * k.experts + k.per_token * k.expert_elements();
  return fit.gemm.fixed + k.rows * weights * fit.gemm.step[0];
}

Seconds cpu_time(const CpuModel& fit, const CausalConvolution& k) { return cpu_time(fit, as_elementwise(work(k))); }
Seconds cpu_time(const CpuModel& fit, const DeltaRule& k) { return cpu_time(fit, as_elementwise(work(k))); }
Seconds cpu_time(const CpuModel& fit, const SelectiveScan& k) { return cpu_time(fit, as_elementwise(work(k))); }
Seconds cpu_time(const CpuModel& fit, const StreamMix& k) { return cpu_time(fit, as_elementwise(work(k))); }

BytesPerSecond copy_bandwidth(const CpuModel& fit) { return Bytes{1} / fit.elements.byte; }

}  // namespace draftline
