// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels: their arguments, the work of each CTA, and which entries a row may attend to.
#pragma once
#include "decoder/cuda/attention/splits.cuh"
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/tensor.h"

namespace draftline::cuda {

inline constexpr float kLog2E = 1.44269504F;

template <class T>
struct AttendArguments {
  View<const T> q;
  PassView pass;  // without lengths: nothing is cached
  CacheView<T> cache;
  int layer, group;
  int value_dim;  // of a head's result
  Window window;
  float scale;     // makes scores exponents of two
  const T* sinks;  // of each head; null: none
  AttendParts parts;
  View<T> y;
  View<const T> q_rope = {};  // of latent attention: the rotated columns of each head's query, which lie apart
};

// Keys and values that are rows of the pass, each head's own, but for the last columns of keys, which all heads share:
// kv [total, heads * (own key columns + value_dim)], k_rope [total, the others].
template <class T>
struct ExpandedArguments : AttendArguments<T> {
  View<const T> kv, k_rope;
};

// The work of a CTA: the rows x heads from `from` on of one KV head of one sequence, and keys [begin, end).
struct AttendWork {
  int sequence, kv_head, kv_slot, split, used, unit;  // `used` splits have any keys
  int first, rows, from;                              // first row of the sequence, its rows, first of rows x heads
  int length, begin, end;
  bool any;
};

// The work of a split of one of the `tiles` tiles of a KV head. `stage`: keys that are read at once; splits begin at
// multiples of it.
template <class T>
__device__ AttendWork work_of(const AttendArguments<T>& a, int tiles, int tile, int split, int tile_rows, int stage) {
  AttendWork w;
  w.split = split;
  w.kv_head = block_y();
  w.sequence = block_z();
  w.unit = (w.sequence * blocks_y() + w.kv_head) * tiles + tile;
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
  const int each = ceil_div(stages, min(a.parts.splits, ceil_div(keys - base, kLeastKeysOfSplit)));
  w.used = ceil_div(stages, each);
  w.begin = base + w.split * each * stage;
  w.end = min(keys, w.begin + each * stage);
  w.any = w.split < w.used;
  return w;
}
// Each tile has as many CTAs side by side as a context may have splits.
template <class T>
__device__ AttendWork work_of_block(const AttendArguments<T>& a, int tile_rows, int stage) {
  const int x = block_x(), splits = a.parts.splits;
  return work_of(a, blocks_x() / splits, x / splits, x % splits, tile_rows, stage);
}

// The entries below `end` of the tail to which a row may attend: its ancestors, in the order of the text.
__device__ inline int ancestors(const PassView& p, int row, int end) {
  const int* mask = p.tree_mask.row(row);
  int n = 0;
  for (int w = 0; w < end / 32; ++w) n += __popc(mask[w]);
  if (end % 32 != 0) n += __popc((mask[end / 32]) & ((1U << end % 32) - 1));
  return n;
}

// Whether row `row`, the index-th of its sequence, may attend to this key.
__device__ inline bool attends_to(const PassView& p, Window window, int row, int index, int length, int key) {
  const int entry = key - length;  // of the tail
  const bool masked = p.tree_mask.data != nullptr;
  if (entry >= 0) {
    if (!masked && p.causal && entry > p.tail + index) return false;
    if (masked && !has_bit(p.tree_mask.row(row), entry)) return false;
  }
  if (window.tokens == 0) return true;
  if (!masked) return key >= window.first_key(p.causal ? length + p.tail + index : length);
  const int position = length + ancestors(p, row, 32 * p.tree_mask.cols) - 1;
  return (entry < 0 ? key : length + ancestors(p, row, entry)) >= window.first_key(position);
}

// The keys from `first_key` on that a row may attend to, a bit for each of 64, where no mask meets a window.
template <class T>
__device__ std::uint64_t seen_keys(const AttendArguments<T>& a, const AttendWork& w, int index, int first_key) {
  const auto below = [&](int end) -> std::uint64_t {  // the keys before this one
    const int n = end - first_key;
    return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  };
  const int behind = w.length + a.pass.tail + index;  // the last that a causal row sees
  if (a.pass.tree_mask.data == nullptr) {
    const std::uint64_t seen = below(a.pass.causal ? min(behind + 1, w.end) : w.end);
    return seen & ~below(a.window.first_key(a.pass.causal ? behind : w.length));
  }
  const int* mask = a.pass.tree_mask.row(w.first + index);
  const int entry = first_key - w.length;  // of the tail
  const auto word = [&](int i) -> std::uint64_t {
    return i >= 0 && i < a.pass.tree_mask.cols ? static_cast<unsigned>(mask[i]) : 0U;
  };
  if (entry <= -64) return below(w.end);
  const int first = entry >= 0 ? entry / 32 : 0, shift = entry >= 0 ? entry % 32 : -entry;
  const std::uint64_t low = word(first) | word(first + 1) << 32;
  if (entry < 0) return (low << shift | below(w.length)) & below(w.end);
  return (low >> shift | (shift == 0 ? 0 : word(first + 2) << (64 - shift))) & below(w.end);
}

// Hides those of a warp's scores whose key the row may not attend to: they become -INFINITY. The scores lie as mma's
// results do (lane: rows g and g + 8 of the tile, columns 2 t and 2 t + 1 of each eight keys from `first_key` on).
// `index`: of the two rows in their sequence.
template <int keys, class T>
__device__ void hide_unseen(float (&score)[keys / 8][4], const AttendArguments<T>& a, const AttendWork& w,
                            const int (&index)[2], int first_key) {
  static_assert(keys <= 64, "a bit for each key");
  const int t = lane_of() % 4;
  std::uint64_t seen[2] = {};
  if (a.window.tokens == 0 || a.pass.tree_mask.data == nullptr) {
    for (int r = 0; r < 2; ++r) seen[r] = seen_keys(a, w, index[r], first_key);
  } else {
#pragma unroll 1  // attends_to() once, not once for each score: that would be 250 KB of code
    for (int i = 0; i < keys / 2; ++i) {
      const bool second = i >= keys / 4;
      const int row = second ? index[1] : index[0], in_stage = 8 * (i % (keys / 4) / 2) + 2 * t + i % 2;
      const int key = first_key + in_stage;
      const bool sees = key < w.end && attends_to(a.pass, a.window, w.first + row, row, w.length, key);
      const std::uint64_t bit = std::uint64_t{sees} << in_stage;
      seen[0] |= second ? 0 : bit;
      seen[1] |= second ? bit : 0;
    }
  }
#pragma unroll
  for (int i = 0; i < keys / 2; ++i)
    if ((seen[i % 4 / 2] >> (8 * (i / 4) + 2 * t + i % 2) & 1U) == 0) score[i / 4][i % 4] = -INFINITY;
}

}  // namespace draftline::cuda
