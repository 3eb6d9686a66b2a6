// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.h"

namespace draftline {

double smooth_max(double x, double y, double p) {
  const double most = std::max(x, y), least = std::min(x, y);
  return most == 0 ? 0 : most * std::pow(1 + std::pow(least / most, p), 1 / p);
}

double l2_share_left(const Device& d, Bytes distance) { return 1 / (1 + std::pow(distance / d.l2, 4)); }

// Formats without a matrix rate of their own are widened to 16 bits first.
static FlopsPerSecond matrix_rate(const Device& d, DType weights, DType activations) {
  const DType wider = bits_of(weights) >= bits_of(activations) ? weights : activations;
  const FlopsPerSecond rate = d.peak_of(wider);
  return rate.value > 0 ? rate : d.peak_of(DType::bf16).value > 0 ? d.peak_of(DType::bf16) : d.peak_of(DType::fp16);
}

Seconds roofline_time(const Device& d, const Work& w, DType t) {
  return std::max(w.flops / matrix_rate(d, t, t), w.bytes() / d.bandwidth);
}

// ---- GEMM: tiles x waves x split-K under a memory bound, the fastest of all (docs/kernel_model.md, form T3)

namespace {

struct Tile {
  int rows, columns;
};
constexpr std::array<Tile, 10> kTiles{
    {{16, 64}, {32, 64}, {64, 32}, {64, 64}, {64, 128}, {128, 64}, {128, 128}, {64, 256}, {128, 256}, {256, 128}}};
constexpr std::array kSplits{1, 2, 3, 4, 6, 8, 12, 16};
constexpr int kLeastSplitInputs = 128;

double tiles(int n, int tile) { return std::ceil(static_cast<double>(n) / tile); }

}  // namespace

Seconds kernel_time(const Device& d, const Gemm& k, double hot) {
  const GemmFit& f = d.fits.gemm;
  const double rate = f.peak_share * matrix_rate(d, k.weights, k.activations).value, memory = f.bandwidth_share * d.bandwidth.value;
  const double l2_rate = f.l2_speed * d.bandwidth.value;
  const double weights = weight_bytes(k.weights, static_cast<double>(k.in) * k.out).value;
  const double inputs = bytes_of(k.activations, static_cast<double>(k.rows) * k.in).value;
  const double outputs = bytes_of(k.activations, static_cast<double>(k.rows) * k.out).value;
  const double memory_time = weights * ((1 - hot) / memory + hot / l2_rate) + inputs / l2_rate;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile t : kTiles) {
    const double ai = static_cast<double>(t.rows) * t.columns / (t.rows + t.columns), efficiency = ai / (ai + f.tile_half);
    const double tiles_all = tiles(k.rows, t.rows) * tiles(k.out, t.columns);
    for (const int split : kSplits) {
      const double inputs_each = static_cast<double>(k.in) / split;
      if (split > 1 && inputs_each < kLeastSplitInputs) break;
      const double one = 2.0 * t.rows * t.columns * inputs_each * d.multiprocessors / (rate * efficiency) + f.latency.value;
      const double loop = f.k_loop.value * inputs_each / 1024;
      const double join = split > 1 ? f.split.value + 4 * split * outputs / l2_rate : 0;
      const double waves = tiles_all * split / d.multiprocessors;
      const double full = std::ceil(waves), partial = std::max(waves, 1.0);
      if (std::max({partial * one, loop, memory_time}) + join >= best) continue;  // a lower bound: cheap to reject
      const double softened = partial * std::pow(full / partial, f.wave_softness);
      const double compute = std::cbrt(std::pow(softened * one, 3) + loop * loop * loop);
      best = std::min(best, smooth_max(compute, memory_time, f.blend) + join);
    }
  }
  return f.fixed + Seconds{best + f.output_cost * outputs / d.bandwidth.value};
}

// ---- attention

namespace {

// Share of the cache found in L2: it is rewritten by the rest of the step unless it is small.
double cache_in_l2(const Device& d, const DecodeAttentionFit& f, double bytes) {
  constexpr double kSharpness = 1 / 0.15;
  return 1 / (1 + std::pow(bytes / (f.l2_share * d.l2.value), kSharpness));
}

// One or a few query rows a sequence over a long cache: split over the keys so that the device is filled (form CTA). Rows
// that share a key head are packed into tiles of 16; many of them meet the matrix rate.
Seconds few_rows(const Device& d, const Attention& k, Span s, double bytes) {
  constexpr int kRowTile = 16;
  const DecodeAttentionFit& f = d.fits.decode;
  const double group = static_cast<double>(k.heads) / k.kv_heads;
  const double units = static_cast<double>(k.sequences) * k.kv_heads * std::ceil(k.widest * group / kRowTile);
  const double fill = std::max(units / d.multiprocessors, 1.0), hot = cache_in_l2(d, f, bytes);
  const double ramp = fill / (fill + f.ramp);
  const double memory = bytes * ((1 - hot) / (f.bandwidth_share * d.bandwidth.value * ramp) + hot / (f.l2_speed * d.bandwidth.value));
  const double flops = 4.0 * k.heads * k.head_dim * s.pairs;
  const double rate = d.fits.prefill.peak_share * matrix_rate(d, k.activations, k.activations).value;
  const double compute = std::max(f.per_unit.value * units / d.multiprocessors, flops / rate);
  return f.fixed + Seconds{smooth_max(compute, memory, f.blend)};
}

// A prompt: blocks of 128 query rows, the longest of them last (form wave).
Seconds many_rows(const Device& d, const Attention& k, Span s, double bytes) {
  constexpr int kBlock = 128;
  const PrefillAttentionFit& f = d.fits.prefill;
  const double blocks = tiles(k.widest, kBlock), rate = f.peak_share * matrix_rate(d, k.activations, k.activations).value;
  const double padding = blocks * kBlock / k.widest;  // rows of a block that hold no query
  const double flops = 4.0 * k.heads * k.head_dim * s.pairs * padding;
  const double waves = static_cast<double>(k.sequences) * k.heads * blocks / d.multiprocessors;
  const double keys = s.keys / k.sequences;
  const double longest = 4.0 * kBlock * keys * k.head_dim * d.multiprocessors / rate;
  const double unevenness = waves <= 1 ? 1 : std::pow(std::ceil(waves) / waves, f.wave_softness);
  const double compute = std::max(flops / rate, longest) * unevenness + f.per_wave.value * std::max(waves, 1.0);
  return f.fixed + Seconds{smooth_max(compute, bytes / (f.bandwidth_share * d.bandwidth.value), f.blend)};
}

}  // namespace

Seconds kernel_time(const Device& d, const Attention& k, Span s) {
  if (k.rows == 0) return {};
  constexpr double kFew = 64, kMany = 256;  // query rows a sequence; between them the two forms are blended
  const double cache = bytes_of(k.cache, 2.0 * k.kv_heads * k.head_dim * s.keys).value;
  const double io = 2 * bytes_of(k.activations, static_cast<double>(k.rows) * k.heads * k.head_dim).value + k.index_bytes.value;
  if (k.widest <= kFew) return few_rows(d, k, s, cache);
  if (k.widest >= kMany) return many_rows(d, k, s, cache + io);
  const double share = std::log(k.widest / kFew) / std::log(kMany / kFew);
  const double few = few_rows(d, k, s, cache).value, many = many_rows(d, k, s, cache + io).value;
  return Seconds{std::pow(few, 1 - share) * std::pow(many, share)};
}

// ---- the rest

Seconds kernel_time(const Device& d, const Copy& k) {
  const CopyFit& f = d.fits.copy;
  const Seconds memory = (k.read + k.written) / (f.bandwidth_share * d.bandwidth);
  return f.fixed + std::max(memory, k.flops / matrix_rate(d, DType::bf16, DType::bf16));
}

Seconds kernel_time(const Device& d, const AllReduce& k) {
  // The table of the nearest number of ranks that is not smaller.
  int ranks = 0;
  for (const AllReducePoint& p : d.all_reduce)
    if (p.ranks >= k.ranks && (ranks == 0 || p.ranks < ranks)) ranks = p.ranks;
  if (ranks == 0)
    throw InputErrors(d.name + ": no all-reduce of " + std::to_string(k.ranks) + " devices is known; give \"all_reduce\" in its file");
  const AllReducePoint *below = nullptr, *above = nullptr;
  for (const AllReducePoint& p : d.all_reduce) {
    if (p.ranks != ranks) continue;
    if (p.message <= k.message && (!below || p.message > below->message)) below = &p;
    if (p.message >= k.message && (!above || p.message < above->message)) above = &p;
  }
  if (!below) return above->time;
  if (!above) return (k.message / below->message) * below->time;
  if (above == below) return below->time;
  const double share = std::log(k.message / below->message) / std::log(above->message / below->message);
  return Seconds{std::pow(below->time.value, 1 - share) * std::pow(above->time.value, share)};
}

Seconds kernel_time(const Device& d, const ExpertMlp& k) {
  constexpr double kRowTile = 16;
  const GemmFit& f = d.fits.gemm;
  const double touched = experts_touched(k), rows_each = static_cast<double>(k.rows) * k.per_token / touched;
  const double padding = std::ceil(rows_each / kRowTile) * kRowTile / rows_each;
  const Work w = work(k);
  const double rate = f.peak_share * matrix_rate(d, k.weights, k.activations).value;
  const double compute = padding * w.flops.value / rate, memory = w.bytes() / (f.bandwidth_share * d.bandwidth) / Seconds{1};
  const Gemm router{k.rows, k.hidden, k.experts, DType::bf16, k.activations, false};
  return kernel_time(d, router) + 2.0 * f.fixed + Seconds{smooth_max(compute, memory, f.blend)};
}

}  // namespace draftline
