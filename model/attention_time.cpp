// SPDX-License-Identifier: Apache-2.0
// docs/kernel_model.md, "Attention". Seconds, bytes and FLOP as plain doubles inside.
#include "model/attention_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/kernel_time.h"

namespace draftline {
namespace {

constexpr double kTallTile = 128;  // query rows of the tallest tile
constexpr double kRowStep = 16;    // rows of a matrix instruction: tiles are padded to it

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

// Query rows of one sequence, as the kernel lays them out for one KV head.
struct Layout {
  double tiles = 0;  // CTAs
  double rows = 0;   // padded, over all tiles
};

Layout layout(double rows, double group, bool packed) {
  const double together = rows * group;  // rows that meet the same keys
  const double small = up(together, kRowStep);
  if (packed) {
    const double tall = up(together, kTallTile);
    return {tall / kTallTile, together <= kTallTile ? small : tall};
  }
  // Each query head alone, unless all its group's rows fit a few small tiles, as they do when decoding.
  const double alone = group * up(rows, kTallTile);
  return {std::min(alone / kTallTile, small / kRowStep), rows <= kTallTile ? small : alone};
}

}  // namespace

Seconds attention_time(const Device& d, const Attention& k, Span s, CacheState state) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  const DecodeAttentionFit& f = d.fits.decode;
  const PrefillAttentionFit& g = d.fits.prefill;
  const double sequences = k.sequences, group = static_cast<double>(k.heads) / k.kv_heads, columns = k.head_dim;
  const double rows = k.rows / sequences, keys = std::max(s.keys / sequences, 0.0);
  const double fresh = std::min(rows, keys), context = keys - fresh;
  const double kv_pairs = sequences * k.kv_heads, multiprocessors = d.multiprocessors;
  const Layout tiles = layout(rows, group, g.packed);

  // Arithmetic: CTAs, each with what it costs at least, and whole blocks of query rows x keys in waves over the device.
  const double waves = kv_pairs * tiles.tiles / multiprocessors;
  const double rate = g.peak_share * matrix_rate(d, k.activations, k.cache).value;
  const double block = std::min(rows, kTallTile);
  const double mean_keys = std::max(s.pairs, 0.0) / k.rows + (block - 1) / 2;  // of a block: its last row's, nearly
  const double flops = 4 * columns * kv_pairs * tiles.rows * mean_keys;
  // The longest CTA: only keys of a context are split among several.
  const double tall = std::min(up(rows, kRowStep), kTallTile);
  const double longest =
      4 * columns * tall * std::min(rows <= kTallTile ? rows : up(rows, kTallTile), keys) * multiprocessors;
  // The last wave is as long as a full one, to the degree of the softness; a context is split so that it fills the device.
  double unevenness = 1;
  if (waves > 1) unevenness += g.wave_softness * fresh / std::max(keys, 1.0) * (up(waves, 1) / waves - 1);
  const double matrix = std::max(flops * unevenness, longest) / rate;
  const double compute = f.per_unit.value * waves + matrix + f.per_root_key.value * std::sqrt(context);

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
  return Seconds{fixed + beyond * context / (context + 1) + smooth_max(compute, memory, blend)};
}

}  // namespace draftline
