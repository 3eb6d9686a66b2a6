// SPDX-License-Identifier: Apache-2.0
// Time of attention on a GPU (docs/kernel_model.md, "Attention"). Seconds, bytes and FLOP as plain doubles inside.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/gpu_time.h"
#include "model/kernel_time.h"

namespace draftline {
namespace {

constexpr double kKeyBlock = 128;  // keys of a block: fewer are never split

// Up to the next multiple of a step.
double up(double x, double step) {
  const double share = x / step - 1e-9;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(share));
  return (whole < share ? whole + 1 : whole) * step;
}

// Share of a working set that stays in L2: 1 / (1 + x^(20/3)), without the root where it is plainly 1 or 0.
double share_in_l2(double bytes, double room) {
  const double x = bytes / room;
  if (x < 0.1 || x > 50) return x < 1 ? 1 : 0;
  const double x2 = x * x, x4 = x2 * x2, x16 = x4 * x4 * x4 * x4;
  return 1 / (1 + std::cbrt(x16 * x4));
}

constexpr double kRowStep = 16;                       // rows of a matrix instruction: tiles are padded to it
constexpr double kPackedTile = 128, kAloneTile = 64;  // query rows of the tallest tile, by the habit of the library

// Query rows of one sequence, as the kernel lays them out for one KV head.
struct Layout {
  double tall = 0;   // rows of the tallest tile
  double tiles = 0;  // CTAs
  double first = 0;  // of these, what one row would need
  double rows = 0;   // padded, over all tiles
};

Layout layout(double rows, double group, bool packed) {
  const double together = rows * group, small = up(together, kRowStep);  // rows that meet the same keys
  if (packed) {
    const double tall = up(together, kPackedTile);
    return {kPackedTile, tall / kPackedTile, std::min(tall, up(group, kPackedTile)) / kPackedTile,
            together <= kPackedTile ? small : tall};
  }
  // Each query head alone from one row step on; one row is swapped for its group's heads. Between them a straight line:
  // kernels differ there, and none is measured.
  const double alone = group * up(rows, kAloneTile), swapped = up(group, kAloneTile) / kAloneTile;
  const double between = swapped + group * std::max(rows - 1, 0.0) / (kRowStep - 1);
  const double tiles = std::min(alone / kAloneTile, between);
  return {kAloneTile, tiles, std::min(tiles, swapped), rows <= kAloneTile ? small : alone};
}

// What splitting a context of so many keys among CTAs and joining the parts costs: nothing within a block.
double join_share(double context) {
  const double x = context / (1.25 * kKeyBlock), x2 = x * x;
  return x2 * x2 / (1 + x2 * x2);
}

}  // namespace

Seconds gpu_time(const Device& d, const Attention& k, Span s, CacheState state) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  const DecodeAttentionFit& f = d.gpu().decode;
  const PrefillAttentionFit& g = d.gpu().prefill;
  const double sequences = k.sequences, group = static_cast<double>(k.heads) / k.kv_heads, columns = k.head_dim;
  const double rows = k.rows / sequences, keys = std::max(s.keys / sequences, 0.0);
  const double fresh = std::min(rows, keys), context = keys - fresh;
  const double kv_pairs = sequences * k.kv_heads, multiprocessors = d.multiprocessors;
  const Layout tiles = layout(rows, group, g.packed);

  // Arithmetic: CTAs, each with what it costs at least, and whole blocks of query rows x keys in waves over the device.
  const double waves = kv_pairs * tiles.tiles / multiprocessors;
  const double rate = g.peak_share * matrix_rate(d, k.activations, k.cache).value;
  const double block = std::min(rows, tiles.tall);
  const double mean_keys = std::max(s.pairs, 0.0) / k.rows + (block - 1) / 2;  // of a block: its last row's, nearly
  const double flops = 4 * columns * kv_pairs * tiles.rows * mean_keys;
  // The longest CTA: only keys of a context are split among several.
  const double tall = std::min(up(rows, kRowStep), tiles.tall);
  const double longest =
      4 * columns * tall * std::min(rows <= tiles.tall ? rows : up(rows, tiles.tall), keys) * multiprocessors;
  // The last wave is as long as a full one, to the degree of the softness; a context is split so that it fills the
  // device.
  double unevenness = 1;
  if (waves > 1) unevenness += g.wave_softness * fresh / std::max(keys, 1.0) * (up(waves, 1) / waves - 1);
  const double matrix = std::max(flops * unevenness, longest) / rate;
  const double units = (f.per_unit.value * tiles.first + g.per_tile.value * (tiles.tiles - tiles.first)) * kv_pairs;
  const double compute =
      units / multiprocessors + matrix + f.per_root_key.value * std::sqrt(std::max(context - kKeyBlock, 0.0));

  // Memory: the context's keys and values from memory, what this step has just written from L2 if it fits there.
  const double per_key = bytes_of(k.cache, 2.0 * k.kv_heads * columns).value;
  const double context_bytes = per_key * context * sequences, fresh_bytes = per_key * fresh * sequences;
  const double own_bytes = 2 * bytes_of(k.activations, static_cast<double>(k.rows) * k.heads * columns).value;
  const double room = f.l2_share * d.l2.value;
  const double share = share_in_l2(fresh_bytes + own_bytes + (state == CacheState::repeated ? context_bytes : 0), room);
  const double context_share = state == CacheState::repeated ? share : 0;
  const double bandwidth = d.bandwidth.value;
  const double from_memory = 1 / (f.bandwidth_share * bandwidth), from_l2 = 1 / (f.l2_speed * bandwidth);
  const double memory = context_bytes * ((1 - context_share) * from_memory + context_share * from_l2) +
                        fresh_bytes * ((1 - share) / (g.write_share * bandwidth) + share * from_l2) +
                        own_bytes * ((1 - share) / (g.bandwidth_share * bandwidth) + share * from_l2) +
                        k.index_bytes.value * from_memory + g.per_row.value * k.rows / multiprocessors;

  // The blend and the fixed cost go from the decode kernel's to the prefill kernel's, and never make more work cheaper.
  const double one_row = kRowStep / std::max(tiles.rows, kRowStep);
  const double sharpness = std::max(f.blend, g.blend);
  const double blend = 1 / (1 / g.blend + (1 / sharpness - 1 / g.blend) * one_row);
  const double fixed = std::min(f.fixed.value, g.fixed.value), beyond = f.fixed.value - fixed;
  return Seconds{fixed + beyond * context / (context + 1) + f.join.value * join_share(context) +
                 smooth_max(compute, memory, blend)};
}

}  // namespace draftline
