// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels: which entries a row may attend to, which keys a split has, and how parts are joined.
#pragma once
#include <algorithm>
#include <cstdint>

#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

inline constexpr int kLeastKeys = 128;  // of a split; joining costs more than a shorter one saves
inline constexpr int kMostSplits = 64;
inline constexpr float kLog2E = 1.44269504F;

template <class T>
struct AttendArguments {
  View<const T> q;
  PassView pass;  // without lengths: nothing is cached
  CacheView<T> cache;
  int layer, group, splits;
  int value_dim;  // of a head's result
  Window window;
  float scale;     // makes scores exponents of two
  const T* sinks;  // of each head; null: none
  unsigned* counters;
  float* parts;  // [unit][split][tile row][value_dim, then the largest score and the sum of its weights]
  View<T> y;
  View<const T> q_rope = {};  // of latent attention: the rotated columns of each head's query, which lie apart
};

// Keys and values that are rows of the pass, each head's own, but for the last columns of keys, which all heads share:
// kv [total, heads * (own key columns + value_dim)], k_rope [total, the others].
template <class T>
struct ExpandedArguments : AttendArguments<T> {
  View<const T> kv, k_rope;
};

// The most parts of a context that give each unit of work enough of `blocks` CTAs.
inline int splits_for(std::int64_t units, int blocks, int capacity) {
  const auto wanted = static_cast<int>((blocks + units - 1) / units);
  return units > kCounters ? 1 : std::clamp(std::min(wanted, ceil_div(capacity, kLeastKeys)), 1, kMostSplits);
}
// Bytes of scratch memory. `heads`: KV heads of all sequences.
inline std::size_t scratch_of(const AttendPlan& p, int heads, int value_dim) {
  if (p.splits == 1) return kCounterBytes;
  return kCounterBytes + sizeof(float) * static_cast<std::size_t>(heads) * static_cast<std::size_t>(p.tiles) *
                             static_cast<std::size_t>(p.splits) * static_cast<std::size_t>(p.tile_rows) *
                             static_cast<std::size_t>(value_dim + 2);
}

// The work of a CTA: the rows x heads from `from` on of one KV head of one sequence, and keys [begin, end).
struct AttendWork {
  int sequence, kv_head, kv_slot, split, used, unit;  // `used` splits have any keys
  int first, rows, from;                              // first row of the sequence, its rows, first of rows x heads
  int length, begin, end;
  bool any;
};

// `stage`: keys that are read at once; splits begin at multiples of it.
template <class T>
__device__ AttendWork work_of_block(const AttendArguments<T>& a, int tile_rows, int stage) {
  AttendWork w;
  const int tiles = static_cast<int>(gridDim.x) / a.splits, tile = static_cast<int>(blockIdx.x) / a.splits;
  w.split = static_cast<int>(blockIdx.x) % a.splits;
  w.kv_head = static_cast<int>(blockIdx.y);
  w.sequence = static_cast<int>(blockIdx.z);
  w.unit = (w.sequence * static_cast<int>(gridDim.y) + w.kv_head) * tiles + tile;
  const View<const int>& cu_seqlens = a.pass.cu_seqlens;
  w.first = *cu_seqlens.row(w.sequence);
  w.rows = *cu_seqlens.row(w.sequence + 1) - w.first;
  w.from = tile * tile_rows;
  w.any = w.from < w.rows * a.group;
  if (!w.any) return w;
  const bool cached = a.pass.slots.lengths.data != nullptr;
  w.length = cached ? a.cache.held(*a.pass.slots.lengths.row(w.sequence)) : 0;
  w.kv_slot = cached ? *a.pass.slots.kv_slots.row(w.sequence) : 0;
  const int last_row = min((w.from + tile_rows - 1) / a.group, w.rows - 1);
  const int keys = w.length + a.pass.tail + (a.pass.looks_ahead() ? w.rows : last_row + 1);
  // The first key that a row of the tile sees; under a mask or of a block, one at the first uncommitted position.
  const int row = a.pass.looks_ahead() ? 0 : a.pass.tail + w.from / a.group;
  const int base = a.window.first_key(w.length + row) / stage * stage;
  const int stages = ceil_div(keys - base, stage);
  const int each = ceil_div(stages, min(a.splits, ceil_div(keys - base, kLeastKeys)));
  w.used = ceil_div(stages, each);
  w.begin = base + w.split * each * stage;
  w.end = min(keys, w.begin + each * stage);
  w.any = w.split < w.used;
  return w;
}

// The entries below `end` of the tail to which a row may attend: its ancestors, in the order of the text.
__device__ inline int ancestors(const PassView& p, int row, int end) {
  const int* mask = p.tree_mask.row(row);
  int n = 0;
  for (int w = 0; w < end / 32; ++w) n += __popc(static_cast<unsigned>(mask[w]));
  if (end % 32 != 0) n += __popc(static_cast<unsigned>(mask[end / 32]) & ((1U << end % 32) - 1));
  return n;
}

// Whether row `row`, the index-th of its sequence, may attend to this key.
__device__ inline bool attends_to(const PassView& p, Window window, int row, int index, int length, int key) {
  const int entry = key - length;  // of the tail
  const bool masked = p.tree_mask.data != nullptr;
  if (entry >= 0) {
    if (!masked && p.causal && entry > p.tail + index) return false;
    if (masked && (static_cast<unsigned>(p.tree_mask.row(row)[entry / 32]) >> (entry % 32) & 1U) == 0) return false;
  }
  if (window.tokens == 0) return true;
  if (!masked) return key >= window.first_key(p.causal ? length + p.tail + index : length);
  const int position = length + ancestors(p, row, 32 * p.tree_mask.cols) - 1;
  return (entry < 0 ? key : length + ancestors(p, row, entry)) >= window.first_key(position);
}

// Hides those of a warp's scores whose key the row may not attend to: they become -INFINITY. The scores lie as mma's
// results do (lane: rows g and g + 8 of the tile, columns 2 t and 2 t + 1 of each eight keys from `first_key` on).
// `index`: of the two rows in their sequence.
template <int keys, class T>
__device__ void hide_unseen(float (&score)[keys / 8][4], const AttendArguments<T>& a, const AttendWork& w,
                            const int (&index)[2], int first_key) {
  static_assert(keys <= 64, "a bit for each score of a lane");
  unsigned seen = 0;
#pragma unroll 1  // attends_to() once, not once for each score: that would be 250 KB of code
  for (int i = 0; i < keys / 2; ++i) {
    const int row = i % 4 < 2 ? index[0] : index[1], key = first_key + 8 * (i / 4) + 2 * (lane_of() % 4) + i % 2;
    if (key < w.end && attends_to(a.pass, a.window, w.first + row, row, w.length, key)) seen |= 1U << i;
  }
#pragma unroll
  for (int i = 0; i < keys / 2; ++i)
    if ((seen >> i & 1U) == 0) score[i / 4][i % 4] = -INFINITY;
}

// A part of a softmax: the largest score, and the sum of the weights exp(score - top).
struct Share {
  float top, sum;
};
__device__ inline float weight_of(float top, float all) { return top == -INFINITY ? 0.0F : exp2f(top - all); }

// Joins the warps' parts (`values` [warps][tile_rows][columns + pad], `shares` [warps][tile_rows]; scores in powers of
// two) and writes the result, or leaves it to the last split of the unit.
template <class T>
__device__ void finish_tile(const AttendArguments<T>& a, const AttendWork& w, const float* values, const Share* shares,
                            int warps, int tile_rows, int row_stride) {
  const int dim = a.value_dim, part_row = dim + 2, valid = min(tile_rows, w.rows * a.group - w.from);
  const auto head = [&](int row) { return w.kv_head * a.group + (w.from + row) % a.group; };
  const auto output = [&](int row) { return a.y.row(w.first + (w.from + row) / a.group) + head(row) * dim; };
  // A sink takes its share of the sum when all parts are joined.
  const auto write = [&](int row, int column, float value, float top, float sum) {
    if (a.sinks != nullptr) {
      const float sink = to_float(a.sinks[head(row)]) * kLog2E, all = fmaxf(top, sink);
      value *= weight_of(top, all);
      sum = sum * weight_of(top, all) + weight_of(sink, all);
    }
    output(row)[column] = from_float<T>(value / sum);
  };
  float* mine = a.parts + (static_cast<std::ptrdiff_t>(w.unit) * a.splits + w.split) * tile_rows * part_row;
  for (int e = static_cast<int>(threadIdx.x); e < valid * dim; e += static_cast<int>(blockDim.x)) {
    const int row = e / dim, column = e % dim;
    float top = -INFINITY, sum = 0, value = 0;
    for (int i = 0; i < warps; ++i) top = fmaxf(top, shares[i * tile_rows + row].top);
    for (int i = 0; i < warps; ++i) {
      const Share s = shares[i * tile_rows + row];
      const float weight = weight_of(s.top, top);
      sum += weight * s.sum;
      value += weight * values[(i * tile_rows + row) * row_stride + column];
    }
    if (w.used == 1) {
      write(row, column, value, top, sum);
    } else {
      mine[row * part_row + column] = value;
      if (column == 0) mine[row * part_row + dim] = top, mine[row * part_row + dim + 1] = sum;
    }
  }
  if (w.used == 1 || !last_to_finish(a.counters + w.unit, w.used)) return;
  const float* parts = a.parts + static_cast<std::ptrdiff_t>(w.unit) * a.splits * tile_rows * part_row;
  for (int e = static_cast<int>(threadIdx.x); e < valid * dim; e += static_cast<int>(blockDim.x)) {
    const int row = e / dim, column = e % dim;
    float top = -INFINITY, sum = 0, value = 0;
    for (int i = 0; i < w.used; ++i) top = fmaxf(top, parts[(i * tile_rows + row) * part_row + dim]);
    for (int i = 0; i < w.used; ++i) {
      const float* part = parts + (i * tile_rows + row) * part_row;
      const float weight = weight_of(part[dim], top);
      sum += weight * part[dim + 1];
      value += weight * part[column];
    }
    write(row, column, value, top, sum);
  }
}

}  // namespace draftline::cuda
