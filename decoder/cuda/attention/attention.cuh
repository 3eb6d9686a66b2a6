// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels: which entries a row may attend to, which keys a split has, and what becomes of a
// tile's sums.
#pragma once
#include <algorithm>
#include <cstdint>

#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

inline constexpr int kLeastKeys = 128;  // of a split; joining costs more than a shorter one saves
inline constexpr int kMostSplits = 64;  // two for each lane that joins them
inline constexpr float kLog2E = 1.44269504F;

// A part of a softmax: the largest score, and the sum of the weights exp(score - top).
struct Share {
  float top, sum;
};
__device__ inline float weight_of(float top, float all) { return top == -INFINITY ? 0.0F : exp2f(top - all); }

// What the splits of a context leave to be joined, by [unit][split][row of the tile]: the sums of values, each `stride`
// floats, and their shares.
struct AttendParts {
  float* sums;
  Share* shares;
  int splits, tile_rows, stride;
  DRAFTLINE_BOTH std::ptrdiff_t at(int unit, int split) const {
    return (static_cast<std::ptrdiff_t>(unit) * splits + split) * tile_rows;
  }
};

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

// The parts of a context in which it takes the least time when so many CTAs run at once, in waves, each of which takes
// what a part takes. A part's work is counted in stages of 64 keys, and what it has besides as three.
inline int splits_for(std::int64_t units, int at_once, int capacity) {
  constexpr int kStage = 64, kBesides = 3, kManyWaves = 2;  // the last of many waves is a small part of them
  constexpr double kAsGood = 1.02;                          // fewer parts leave less to be joined
  if (units >= std::int64_t{kManyWaves} * at_once) return 1;
  const int stages = ceil_div(capacity, kStage);
  const auto time = [&](int splits) {
    const std::int64_t waves = (units * splits + at_once - 1) / at_once;
    return static_cast<double>(waves) * (ceil_div(stages, splits) + kBesides);
  };
  const int most = std::clamp(ceil_div(capacity, kLeastKeys), 1, kMostSplits);
  double least = time(1);
  for (int splits = 2; splits <= most; ++splits) least = std::min(least, time(splits));
  int chosen = 1;
  while (time(chosen) > kAsGood * least) ++chosen;
  return chosen;
}

constexpr int stride_of_parts(int value_dim) { return (value_dim + 3) / 4 * 4; }  // read 16 bytes at a time
// Rows of parts of all heads. `heads`: KV heads of all sequences.
inline std::size_t rows_of_parts(const AttendPlan& p, int heads) {
  return static_cast<std::size_t>(heads) * static_cast<std::size_t>(p.tiles) * static_cast<std::size_t>(p.splits) *
         static_cast<std::size_t>(p.tile_rows);
}
// Bytes of scratch memory.
inline std::size_t scratch_of(const AttendPlan& p, int heads, int value_dim) {
  if (p.splits == 1) return kCounterBytes;
  return kCounterBytes + rows_of_parts(p, heads) *
                             (sizeof(float) * static_cast<std::size_t>(stride_of_parts(value_dim)) + sizeof(Share));
}
inline AttendParts parts_in(const Scratch& scratch, const AttendPlan& p, int heads, int value_dim) {
  const int stride = stride_of_parts(value_dim);
  auto* sums = reinterpret_cast<float*>(static_cast<unsigned char*>(scratch.data) + kCounterBytes);
  auto* shares = reinterpret_cast<Share*>(sums + rows_of_parts(p, heads) * static_cast<std::size_t>(stride));
  return {sums, shares, p.splits, p.tile_rows, stride};
}

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
  const int each = ceil_div(stages, min(a.parts.splits, ceil_div(keys - base, kLeastKeys)));
  w.used = ceil_div(stages, each);
  w.begin = base + w.split * each * stage;
  w.end = min(keys, w.begin + each * stage);
  w.any = w.split < w.used;
  return w;
}
// Each tile has as many CTAs side by side as a context may have splits.
template <class T>
__device__ AttendWork work_of_block(const AttendArguments<T>& a, int tile_rows, int stage) {
  const int x = static_cast<int>(blockIdx.x), splits = a.parts.splits;
  return work_of(a, static_cast<int>(gridDim.x) / splits, x / splits, x % splits, tile_rows, stage);
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

// The result of a head, which its sink, if it has one, takes a share of: a factor for the sums, from the share of all.
template <class T>
__device__ float factor_of(const AttendArguments<T>& a, int head, const Share& all) {
  if (a.sinks == nullptr) return 1 / all.sum;
  const float sink = to_float(a.sinks[head]) * kLog2E, top = fmaxf(all.top, sink), weight = weight_of(all.top, top);
  return weight / (all.sum * weight + weight_of(sink, top));
}
template <class T>
__device__ T* result_of(const AttendArguments<T>& a, const AttendWork& w, int stacked) {
  return a.y.row(w.first + stacked / a.group) + (w.kv_head * a.group + stacked % a.group) * a.value_dim;
}

// Joins the warps' parts (`values` [warps][tile_rows][row_stride], `shares` [warps][tile_rows]; scores in powers of
// two) and writes the result or, where the context has several splits, the part of this one. A warp has a row at a
// time, and no result depends on which. `columns`: value_dim, where it is known; else 0.
template <int warps, int columns = 0, class T>
__device__ void finish_tile(const AttendArguments<T>& a, const AttendWork& w, const float* values, const Share* shares,
                            int tile_rows, int row_stride) {
  const int dim = columns > 0 ? columns : a.value_dim, valid = min(tile_rows, w.rows * a.group - w.from);
  const int row_warps = static_cast<int>(blockDim.x) / 32;
#pragma unroll 4  // what is read of one row does not wait for what is read of another
  for (int row = warp_of(); row < valid; row += row_warps) {
    float weight[warps];
    Share all = {-INFINITY, 0};
#pragma unroll
    for (int i = 0; i < warps; ++i) all.top = fmaxf(all.top, shares[i * tile_rows + row].top);
#pragma unroll
    for (int i = 0; i < warps; ++i) {
      const Share s = shares[i * tile_rows + row];
      weight[i] = weight_of(s.top, all.top);
      all.sum += weight[i] * s.sum;
    }
    const auto each_sum = [&](auto put) {
#pragma unroll
      for (int base = 0; base < dim; base += 32) {
        const int column = base + lane_of();
        if (column >= dim) continue;
        float sum = 0;
#pragma unroll
        for (int i = 0; i < warps; ++i) sum += weight[i] * values[(i * tile_rows + row) * row_stride + column];
        put(column, sum);
      }
    };
    if (w.used == 1) {
      const int stacked = w.from + row;
      const float factor = factor_of(a, w.kv_head * a.group + stacked % a.group, all);
      T* y = result_of(a, w, stacked);
      each_sum([&](int column, float sum) { y[column] = from_float<T>(sum * factor); });
    } else {
      const std::ptrdiff_t part = a.parts.at(w.unit, w.split) + row;
      float* sums = a.parts.sums + part * a.parts.stride;
      each_sum([&](int column, float sum) { sums[column] = sum; });
      if (lane_of() == 0) a.parts.shares[part] = all;
    }
  }
}

constexpr int kJoinWarps = 4;

// Joins the splits of a context, in their order: a warp for each row x head. Those of a single split are done.
template <class T>
__global__ void __launch_bounds__(32 * kJoinWarps) join_parts_kernel(AttendArguments<T> a, int tiles, int stage) {
  constexpr int kAtOnce = 16;  // loads of a lane that are under way together
  static_assert(kMostSplits <= 64 && kMostSplits % kAtOnce == 0);
  await_previous();
  const int lane = lane_of(), stacked = static_cast<int>(blockIdx.x) * kJoinWarps + warp_of();
  const int tile = stacked / a.parts.tile_rows, row = stacked % a.parts.tile_rows;
  const AttendWork w = work_of(a, tiles, tile, 0, a.parts.tile_rows, stage);
  if (!w.any || w.used == 1 || stacked >= w.rows * a.group) return;
  const std::ptrdiff_t first = a.parts.at(w.unit, 0) + row;                                      // of the first split
  const std::ptrdiff_t apart = static_cast<std::ptrdiff_t>(a.parts.tile_rows) * a.parts.stride;  // sums of two splits
  Share mine[2];  // of splits `lane` and `lane` + 32
  for (int i = 0; i < 2; ++i) {
    const int split = lane + 32 * i;
    mine[i] = split < w.used ? a.parts.shares[first + split * a.parts.tile_rows] : Share{-INFINITY, 0};
  }
  Share all = {warp_reduce(fmaxf(mine[0].top, mine[1].top), Largest{}), 0};
  const float low = weight_of(mine[0].top, all.top), high = weight_of(mine[1].top, all.top);
  all.sum = warp_reduce(low * mine[0].sum + high * mine[1].sum, Plus{});
  const float factor = factor_of(a, w.kv_head * a.group + stacked % a.group, all);
  T* y = result_of(a, w, stacked);
  for (int base = 0; base < a.value_dim; base += 128) {
    const int column = base + 4 * lane;
    const float* sums = a.parts.sums + first * a.parts.stride + column;
    float4 sum = {0, 0, 0, 0};
    for (int from = 0; from < w.used; from += kAtOnce) {
      float4 part[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        part[i] = from + i < w.used && column < a.value_dim
                      ? *reinterpret_cast<const float4*>(sums + (from + i) * apart)
                      : float4{0, 0, 0, 0};
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const float weight = __shfl_sync(kWarp, from + i < 32 ? low : high, (from + i) % 32);
        sum.x += weight * part[i].x;
        sum.y += weight * part[i].y;
        sum.z += weight * part[i].z;
        sum.w += weight * part[i].w;
      }
    }
    const float out[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (column + i < a.value_dim) y[column + i] = from_float<T>(out[i] * factor);
  }
}

// Launches the join behind the kernel that left the parts, if the plan has any. `stage`: as that kernel's.
template <class T>
void join_parts(const AttendArguments<T>& a, const AttendPlan& plan, int kv_heads, int stage, cudaStream_t stream) {
  if (plan.splits == 1) return;
  launch_overlapping(join_parts_kernel<T>,
                     grid_of(ceil_div(a.pass.widest * a.group, kJoinWarps), kv_heads, a.pass.sequences),
                     grid_of(32 * kJoinWarps), 0, stream, a, plan.tiles, stage);
}

}  // namespace draftline::cuda
