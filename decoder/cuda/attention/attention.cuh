// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels: which entries a row may attend to, which keys a split has, and how parts are joined.
#pragma once
#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

inline constexpr int kLeastKeys = 128;  // of a split; joining costs more than a shorter one saves
inline constexpr int kMostSplits = 64;

template <class T>
struct AttendArguments {
  View<const T> q;
  PassView pass;
  CacheView<T> cache;
  int layer, group, splits;
  float scale;
  unsigned* counters;
  float* parts;  // [unit][split][tile row][head_dim, then the largest score and the sum of its weights]
  View<T> y;
};

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
  w.length = *a.pass.slots.lengths.row(w.sequence);
  w.kv_slot = *a.pass.slots.kv_slots.row(w.sequence);
  const int last_row = min((w.from + tile_rows - 1) / a.group, w.rows - 1);
  const int keys = w.length + a.pass.tail + (a.pass.tree_mask.data != nullptr ? w.rows : last_row + 1);
  const int stages = ceil_div(keys, stage);
  const int each = ceil_div(stages, min(a.splits, ceil_div(keys, kLeastKeys)));
  w.used = ceil_div(stages, each);
  w.begin = w.split * each * stage;
  w.end = min(keys, w.begin + each * stage);
  w.any = w.split < w.used;
  return w;
}

// Whether row `row`, the index-th of its sequence, may attend to this key.
__device__ inline bool attends_to(const PassView& p, int row, int index, int length, int key) {
  const int entry = key - length;  // of the tail
  if (entry < 0) return true;
  if (p.tree_mask.data == nullptr) return entry <= p.tail + index;
  return (static_cast<unsigned>(p.tree_mask.row(row)[entry / 32]) >> (entry % 32) & 1U) != 0;
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
  const int dim = a.cache.head_dim, part_row = dim + 2, valid = min(tile_rows, w.rows * a.group - w.from);
  const auto output = [&](int row) {
    const int m = w.from + row;
    return a.y.row(w.first + m / a.group) + (w.kv_head * a.group + m % a.group) * dim;
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
      output(row)[column] = from_float<T>(value / sum);
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
    output(row)[column] = from_float<T>(value / sum);
  }
}

}  // namespace draftline::cuda
