// SPDX-License-Identifier: Apache-2.0
// Time of attention on a GPU (docs/explanation/kernel_model.md, "Attention"). Seconds, bytes and FLOP as plain doubles
// inside.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/kernels/context_splits.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"

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

constexpr double kRowStep = 16;  // rows of a matrix instruction
constexpr double kPackedTile = 128, kAloneTile = 64,
                 kWholePromptTile = 256;  // query rows, by the layout of the library

// Query rows of one sequence, as the kernel lays them out for one KV head.
struct Layout {
  double tall = 0;        // rows of the tallest tile
  double tiles = 0;       // CTAs
  double first = 0;       // of these, what one row would need
  double rows = 0;        // padded, over all tiles
  double shortest = 0;    // rows that the longest CTA pads to, at least
  bool walks = false;     // one CTA walks a sequence's whole context
  bool may_split = true;  // would one row's context be split?
};

Layout packed_layout(double rows, double group) {
  const double together = rows * group, tall = up(together, kPackedTile);  // rows that read the same keys
  return {.tall = kPackedTile,
          .tiles = tall / kPackedTile,
          .first = std::min(tall, up(group, kPackedTile)) / kPackedTile,
          .rows = together <= kPackedTile ? up(together, kRowStep) : tall,
          .shortest = std::min(up(rows, kRowStep), kPackedTile)};
}

// Each query head alone from one row step on; one row is swapped for its group's heads. Between them a straight line:
// kernels differ there, and none is measured.
Layout apart_layout(double rows, double group) {
  const double alone = group * up(rows, kAloneTile), swapped = up(group, kAloneTile) / kAloneTile;
  const double between = swapped + group * std::max(rows - 1, 0.0) / (kRowStep - 1);
  const double tiles = std::min(alone / kAloneTile, between);
  return {.tall = kAloneTile,
          .tiles = tiles,
          .first = std::min(tiles, swapped),
          .rows = rows <= kAloneTile ? up(rows * group, kRowStep) : alone,
          .shortest = std::min(up(rows, kRowStep), kAloneTile)};
}

// `mixed`: the launch computes a prompt's chunk too, so that no rows are swapped.
Layout swapped_layout(double rows, double group, bool mixed) {
  const bool splits = group > 1;
  if (splits && rows <= 1 && !mixed) return apart_layout(rows, group);
  const double alone = group * up(rows, kAloneTile);
  return {.tall = kAloneTile,
          .tiles = alone / kAloneTile,
          .first = up(group, kAloneTile) / kAloneTile,
          .rows = alone,
          .shortest = kAloneTile,
          .walks = true,
          .may_split = splits};
}

Layout packed_decode_layout(double rows, double group) {
  Layout one = packed_layout(rows, group);
  if (rows < kRowStep) return one;
  const double whole = group * up(rows, kWholePromptTile);
  return {.tall = kWholePromptTile,
          .tiles = whole / kWholePromptTile,
          .first = std::min(whole / kWholePromptTile, up(group, kPackedTile) / kPackedTile),
          .rows = whole,
          .shortest = std::min(up(rows, kRowStep), kWholePromptTile)};
}

Layout layout_of(HeadLayout layout, double rows, double group, bool mixed) {
  switch (layout) {
    case HeadLayout::packed: return packed_layout(rows, group);
    case HeadLayout::apart: return apart_layout(rows, group);
    case HeadLayout::swapped: return swapped_layout(rows, group, mixed);
    case HeadLayout::packed_decode: return packed_decode_layout(rows, group);
    case HeadLayout::stacked: return packed_layout(rows, group);  // not asked for: stacked_time
  }
  return {};
}

// A row's heads, which read keys that no other row has chosen. FlashMLA's sparse kernels take 64 or 128 of them (vLLM:
// flashmla_sparse.py pads to that).
Layout gathering_layout(double heads) {
  const double padded = up(heads, kAloneTile);
  return {.tall = padded, .tiles = 1, .first = 1, .rows = padded, .shortest = padded};
}

// What splitting a context of so many keys among CTAs and joining the parts costs: nothing within a block.
double join_share(double context) {
  const double x = context / (1.25 * kKeyBlock), x2 = x * x;
  return x2 * x2 / (1 + x2 * x2);
}

// Attention, by the sequence.
struct PerSequence {
  double sequences, group, rows, keys, fresh, context;
  double kv_pairs;        // KV heads of all sequences
  double flops_per_pair;  // of a query and a key
};

PerSequence per_sequence(const Attention& k, Span s) {
  PerSequence p;
  p.sequences = k.sequences, p.group = 1.0 * k.heads / k.kv_heads;
  p.rows = k.rows / p.sequences, p.keys = std::max(s.keys / p.sequences, 0.0);
  p.fresh = std::min(p.rows, p.keys), p.context = p.keys - p.fresh;
  p.kv_pairs = p.sequences * k.kv_heads;
  p.flops_per_pair = 2 * (1.0 * k.head_dim + k.values());
  return p;
}

// Memory: the context's keys and values from memory, what this step has just written from L2 if it fits there.
double memory_time(const Device& d, const AttentionFit& fit, const Attention& k, Span s, const PerSequence& p,
                   CacheState state) {
  const DecodeAttentionFit& f = fit.decode;
  const PrefillAttentionFit& g = fit.prefill;
  const double per_key = k.keys_read(1).value;
  const double context_bytes = per_key * p.context * p.sequences, fresh_bytes = per_key * p.fresh * p.sequences;
  const double own_bytes = bytes_of(k.activations, 1.0 * k.rows * k.heads * (1.0 * k.head_dim + k.values())).value;
  const double room = f.l2_share * d.l2.value;
  const double share = share_in_l2(fresh_bytes + own_bytes + (state == CacheState::repeated ? context_bytes : 0), room);
  const double context_share = state == CacheState::repeated ? share : 0;
  const double bandwidth = d.bandwidth.value;
  const double from_memory = 1 / (f.bandwidth_share * bandwidth), from_l2 = 1 / (f.l2_speed * bandwidth);
  const double again = k.gathers ? per_key * std::max(s.pairs - s.keys, 0.0) : 0;  // what other rows have read
  return again * from_l2 + context_bytes * ((1 - context_share) * from_memory + context_share * from_l2) +
         fresh_bytes * ((1 - share) / (g.write_share * bandwidth) + share * from_l2) +
         own_bytes * ((1 - share) / (g.bandwidth_share * bandwidth) + share * from_l2) +
         k.index_bytes.value * from_memory + g.per_row.value * k.rows / d.multiprocessors;
}

// Our own kernels (decoder/cuda/attention): the rows x heads that share a KV head are a stack of tiles.
constexpr double kStageKeys = 64;  // that a CTA copies to shared memory at once
constexpr double kFirst = 2;       // CTAs of a multiprocessor, whose first stages are waited for

struct Stack {
  double planned = 0;        // CTAs that are launched where no context is split: of sequences as wide as the widest
  double ctas = 0;           // of them, those that have rows
  double at_once = 1;        // of a multiprocessor
  double longest, mean;      // stages of the tile with most keys, and of all
  double stage, least;       // time of a stage: of one CTA among others, and at least
  double end, part_end;      // time in which a CTA stores its results, and what a part leaves
  double join, joined_part;  // time to join parts, and of that for each of them
};

Stack stack_of(const Device& d, const AttentionFit& fit, const Attention& k, Span s, const PerSequence& p) {
  constexpr double kColumns = 128;
  const DecodeAttentionFit& f = fit.decode;
  const PrefillAttentionFit& g = fit.prefill;
  const double high = p.rows * p.group, highest = std::max(high, k.widest * p.group);
  const int tile_rows = highest <= kFewRows ? kFewRows : kManyRows;
  const double tall = tile_rows;
  const double l2_bandwidth = f.l2_speed * d.bandwidth.value;
  // Every tile copies its keys and values from L2; rows that a tile has not are computed all the same.
  const double copied = k.keys_read(1).value / k.kv_heads / l2_bandwidth,
               computed = tall * p.flops_per_pair / (g.peak_share * matrix_rate(d, k.activations, k.cache).value);
  const double block = std::min(p.rows, std::max(tall / p.group, 1.0));  // rows of the text in a tile
  const double mean_keys = std::max(s.pairs, 0.0) / k.rows + (block - 1) / 2;
  // Half of what storing a row of 128 columns costs does not depend on its columns.
  const double stored = std::min(high, tall) * (1 + k.values() / kColumns) / 2;
  const double sums = bytes_of(DType::fp32, 1.0 * k.rows * k.heads * k.values()).value;
  return {.planned = p.kv_pairs * up(highest, tall) / tall,
          .ctas = p.kv_pairs * up(high, tall) / tall,
          .at_once = 1.0 * (k.latent ? (tile_rows == kManyRows ? 1 : 2) : ctas_at_once(k.head_dim, tile_rows)),
          .longest = p.keys / kStageKeys,
          .mean = std::min(mean_keys, p.keys) / kStageKeys,
          .stage = kStageKeys * d.multiprocessors * (copied + computed),
          .least = g.per_stage.value * tall / kManyRows,  // in a tile of few rows, four warps share the keys
          .end = f.per_unit.value + g.per_tile_row.value * stored,
          .part_end = f.per_unit.value + g.per_part_row.value * stored,
          .join = f.join.value,
          .joined_part = g.per_part.value + 2 * sums / l2_bandwidth};
}

// The parts of a context that have keys, where the kernels split it.
double parts_of(const Stack& stack, double multiprocessors, double keys) {
  constexpr double kMost = 1 << 30;
  const auto whole = [&](double n) { return std::llround(up(std::min(n, kMost), 1)); };
  const int splits = splits_for(whole(stack.planned), static_cast<int>(stack.at_once * multiprocessors),
                                static_cast<int>(whole(std::max(keys, 1.0))));
  const double stages = std::max(up(stack.longest, 1), 1.0);
  return up(stages / up(stages / splits, 1), 1);
}

double stacked_time(const Device& d, const AttentionFit& fit, const Attention& k, Span s, const PerSequence& p,
                    double memory) {
  const Stack stack = stack_of(d, fit, k, s, p);
  const double parts = parts_of(stack, d.multiprocessors, p.keys), each = up(stack.longest / parts, 1);
  const double ctas = stack.ctas * parts, resident = ctas / d.multiprocessors,
               full = std::max(resident / stack.at_once, 1.0);
  const double waves = full + fit.prefill.wave_softness * (up(full, 1) - full);
  const double stage = std::max(std::clamp(resident, 1.0, stack.at_once) * stack.stage, stack.least);
  const double end = parts > 1 ? stack.part_end : stack.end;
  const double join = parts > 1 ? stack.join + parts * stack.joined_part : 0;
  const double compute = stage * ((waves - 1) * stack.mean / parts + each) + (waves - 1) * end;
  // Nobody computes before the first stages are there; tiles of the same keys read them together.
  const double first = memory * std::min(kFirst * d.multiprocessors / (p.kv_pairs * parts * each), 1.0);
  const double rest = memory - first;
  return fit.decode.fixed.value + first + end + join + smooth_max(compute, rest, fit.decode.blend);
}

}  // namespace

// The time of an indexer, whose kernels were measured on no device: the roofline, at the arithmetic and the bandwidth
// that the attention library reaches, and a launch for the choice of the best.
static Seconds index_time(const Device& d, const AttentionFit& fit, const Attention& k, Span s) {
  const Work w = work(k, s);
  const Seconds arithmetic = w.flops / (fit.prefill.peak_share * matrix_rate(d, k.activations, k.cache)),
                memory = w.bytes() / (fit.decode.bandwidth_share * d.bandwidth);
  return fit.decode.fixed + launch_time(d) + Seconds{smooth_max(arithmetic.value, memory.value, fit.decode.blend)};
}

Seconds gpu_time(const Device& d, const AttentionChoice& choice, const Attention& k, Span s, CacheState state) {
  if (k.rows <= 0 || k.sequences <= 0) return {};
  if (k.scores()) return index_time(d, *choice.fit, k, s);
  const DecodeAttentionFit& f = choice.fit->decode;
  const PrefillAttentionFit& g = choice.fit->prefill;
  const PerSequence p = per_sequence(k, s);
  const double memory = memory_time(d, *choice.fit, k, s, p, state);
  if (choice.layout == HeadLayout::stacked && !k.gathers) return Seconds{stacked_time(d, *choice.fit, k, s, p, memory)};
  const auto& [sequences, group, rows, keys, fresh, context, kv_pairs, flops_per_pair] = p;
  const double multiprocessors = d.multiprocessors;
  const Layout tiles = k.gathers ? gathering_layout(group) : layout_of(choice.layout, rows, group, k.widest > 1);
  const double split = tiles.may_split ? context : 0;  // keys that are shared out among CTAs

  // Arithmetic: CTAs, each with what it costs at least, and whole blocks of query rows x keys in waves over the device.
  const double waves = kv_pairs * tiles.tiles / multiprocessors;
  const double rate = g.peak_share * matrix_rate(d, k.activations, k.cache).value;
  const double block = std::min(rows, tiles.tall);
  const double mean_keys = std::max(s.pairs, 0.0) / k.rows + (block - 1) / 2;  // of a block: its last row's, nearly
  const double flops = flops_per_pair * kv_pairs * tiles.rows * mean_keys;
  // The longest CTA, over this pass's keys; a context's too where it is not split.
  const double key = flops_per_pair * tiles.shortest * multiprocessors / rate;
  const double longest = key * std::min(rows <= tiles.tall ? rows : up(rows, tiles.tall), keys) +
                         (tiles.walks ? (g.per_key.value > 0 ? g.per_key.value : key) * context : 0);
  // The last wave is as long as a full one, to the degree of the softness; a context is split so that it fills the
  // device.
  double unevenness = 1;
  if (waves > 1) unevenness += g.wave_softness * fresh / std::max(keys, 1.0) * (up(waves, 1) / waves - 1);
  const double matrix = std::max(flops * unevenness / rate, longest);
  const double units = (f.per_unit.value * tiles.first + g.per_tile.value * (tiles.tiles - tiles.first)) * kv_pairs;
  const double compute =
      units / multiprocessors + matrix + f.per_root_key.value * std::sqrt(std::max(split - kKeyBlock, 0.0));

  // The blend goes from the decode kernel's to the prefill kernel's with the rows. Of the two launches the dearer is
  // reached with the context if it is decode's, with the rows if it is prefill's: more work is never cheaper.
  const double one_row = rows <= 1 && tiles.walks ? 1 : kRowStep / std::max(tiles.rows, kRowStep);
  const double sharpness = std::max(f.blend, g.blend);
  const double blend = 1 / (1 / g.blend + (1 / sharpness - 1 / g.blend) * one_row);
  const double fixed = std::min(f.fixed.value, g.fixed.value);
  const double of_context = (f.fixed.value - fixed) * split / (split + 1),
               of_rows = (g.fixed.value - fixed) * std::min((rows - 1) / (kRowStep - 1), 1.0);
  return Seconds{fixed + of_context + of_rows + f.join.value * join_share(split) + smooth_max(compute, memory, blend)};
}

Seconds gpu_time(const Device& d, const Attention& k, Span s) {
  return gpu_time(d, attention_choice(d.gpu().attention, {}, k.cache, form_of(k)), k, s, CacheState::in_memory);
}

}  // namespace draftline
