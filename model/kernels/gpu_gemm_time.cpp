// SPDX-License-Identifier: Apache-2.0
// Time of a GEMM on a GPU (docs/explanation/kernel_model.md, form T3): over tiles and splits of K, the fastest of tiles
// x waves under a memory bound. Seconds, bytes and FLOP as plain doubles inside. One evaluation takes about a
// microsecond: see the order of work.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "model/kernels/gemm_tiles.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {
namespace {

constexpr std::array kSplits{1, 2, 3, 4, 6, 8, 12, 16};
constexpr double kLeastSplitInputs = 128;
// The share of the peak that products in 32 bits reach, whose inputs are not split: from steps of MiniMax-M2.5 in FP8
// on four B200s before and after its router, of 3072 x 256, took TF32 (docs/explanation/accuracy.md, "Served rows").
// This is one card, engine and shape, so it is a guess elsewhere.
constexpr double kScalarShare = 0.6;

// The next whole number, for a positive one that fits.
double up(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

constexpr int blocks(int n, int tile) { return n / tile + (n % tile != 0); }

// A cluster takes as many tiles below each other as it has multiprocessors, some of them empty.
constexpr int row_blocks(int rows, const GemmTile& t) { return blocks(blocks(rows, t.rows), t.together) * t.together; }

// What one tile costs all multiprocessors together, per input, and how many tiles there are.
struct Candidate {
  double per_input = 0, tiles = 0;
};

}  // namespace

Seconds gpu_time(const Device& d, const Gemm& k, double l2_hit_share) {
  if (k.rows <= 0 || k.in <= 0 || k.out <= 0) return {};
  const GemmFit& f = gemm_fit(d, operands_of(k)).fit;
  const bool scalar = k.weights == DType::fp32 && k.activations == DType::fp32;
  const double rate = (scalar ? kScalarShare : f.peak_share) * matrix_rate(d, k.weights, k.activations).value;
  const double bandwidth = d.bandwidth.value, l2_rate = f.l2_speed * bandwidth;
  const double weights = weight_bytes(k.weights, 1.0 * k.count * k.in * k.out, k.scale_bits).value;
  const double inputs = bytes_of(k.activations, 1.0 * k.count * k.rows * k.in).value;
  const double outputs = bytes_of(result_format(k.activations), 1.0 * k.count * k.rows * k.out).value;
  const double memory =
      weights * ((1 - l2_hit_share) / (f.bandwidth_share * bandwidth) + l2_hit_share / l2_rate) + inputs / l2_rate;
  const double multiprocessors = d.multiprocessors;
  const double tile_half = scalar ? 0 : f.tile_half;  // 32-bit arithmetic is slow enough to be fed by small tiles

  std::array<Candidate, kMostTiles> every;
  const std::span<const GemmTile> tiles = scalar ? scalar_tiles(k.rows) : gemm_tiles(f.tiles, k.rows);
  const std::span<Candidate> candidates = std::span(every).first(tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const GemmTile& t = tiles[i];
    const double size = 1.0 * t.rows * t.columns;
    // 2 size / (rate efficiency) with efficiency ai / (ai + half), ai = size / (rows + columns)
    candidates[i] = {2 * (size + tile_half * (t.rows + t.columns)) * multiprocessors / rate,
                     1.0 * row_blocks(k.rows, t) * blocks(k.out, t.columns) * k.count};
  }

  // Only the arithmetic depends on the tile, so for each split the best tile is found first, and joined with the
  // memory bound once. Powers are the costly part. As full / waves lies between 1 and 2, where the power is above its
  // chord, only tiles that win by the chord can win.
  const double chord = std::exp2(f.wave_softness) - 1;
  double best = std::numeric_limits<double>::infinity();
  for (const int split : kSplits) {
    if (split > 1 && (scalar || !splits_inputs(f.tiles))) break;
    // A split shorter than kLeastSplitInputs costs as much as one of that length, so that more inputs are never
    // cheaper.
    const double inputs_each = split == 1 ? k.in : std::max(1.0 * k.in / split, kLeastSplitInputs);
    const double join = split > 1 ? f.split.value + 4 * split * outputs / l2_rate : 0;
    if (memory + join >= best) break;  // more splits only join more
    const double loop = f.k_loop.value * inputs_each / 1024;
    double busiest = std::numeric_limits<double>::infinity();
    if (loop + join >= best) continue;
    for (const Candidate& c : candidates) {
      const double one = c.per_input * inputs_each + f.latency.value;
      const double waves = std::max(c.tiles * split / multiprocessors, 1.0);
      const double limit = std::min(busiest, best - join);
      if (waves * one >= limit) continue;
      const double uneven = up(waves) / waves;
      if (waves * one * (1 + chord * (uneven - 1)) >= limit) continue;
      const double softened = uneven == 1 ? waves : waves * std::pow(uneven, f.wave_softness);
      busiest = std::min(busiest, softened * one);
    }
    const double compute = std::cbrt(busiest * busiest * busiest + loop * loop * loop);
    if (std::max(compute, memory) + join < best) best = std::min(best, smooth_max(compute, memory, f.blend) + join);
  }
  return f.fixed + Seconds{best + f.output_cost * outputs / bandwidth};
}

}  // namespace draftline
