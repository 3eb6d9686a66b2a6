// SPDX-License-Identifier: Apache-2.0
// What becomes of a tile's sums: the result, or a part of it that a second kernel joins with those of other splits.
#pragma once
#include "decoder/cuda/attention/attention.cuh"

namespace draftline::cuda {

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

// Neighbouring columns of a row, which are read and written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Columns {
  T at[n];
};
inline bool takes_columns(const View<bf16>& y) {  // four of them at once
  return y.stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(y.data) % sizeof(Columns<bf16, 4>) == 0;
}
template <int n>
__device__ void add(Columns<float, n>& sum, float weight, const Columns<float, n>& v) {
#pragma unroll
  for (int i = 0; i < n; ++i) sum.at[i] += weight * v.at[i];
}
template <class T, int n>
__device__ void write(T* to, const Columns<float, n>& v, float factor) {
  Columns<T, n> all;
#pragma unroll
  for (int i = 0; i < n; ++i) all.at[i] = from_float<T>(v.at[i] * factor);
  *reinterpret_cast<Columns<T, n>*>(to) = all;
}

// Joins the warps' parts (`values` [warps][tile_rows][row_stride], `shares` [warps][tile_rows]; scores in powers of
// two) and writes the result or, where the context has several splits, the part of this one. A warp has a row at a
// time, and no result depends on which. `columns`: value_dim, where it is known; else 0.
template <int warps, int columns = 0, class T>
__device__ void finish_tile(const AttendArguments<T>& a, const AttendWork& w, const float* values, const Share* shares,
                            int tile_rows, int row_stride) {
  constexpr int kTogether = columns == 0 ? 1 : columns < 128 ? 2 : 4;
  const int dim = columns > 0 ? columns : a.value_dim, valid = min(tile_rows, w.rows * a.group - w.from);
  const int row_warps = threads_x() / 32;
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
    const auto write_sums = [&](auto* to, float factor) {
#pragma unroll
      for (int base = 0; base < dim; base += 32 * kTogether) {
        const int column = base + kTogether * lane_of();
        if (column >= dim) continue;
        Columns<float, kTogether> sum = {};
#pragma unroll
        for (int i = 0; i < warps; ++i) {
          const float* from = values + (i * tile_rows + row) * row_stride + column;
          add(sum, weight[i], *reinterpret_cast<const Columns<float, kTogether>*>(from));
        }
        write(to + column, sum, factor);
      }
    };
    if (w.used == 1) {
      const int stacked = w.from + row;
      write_sums(result_of(a, w, stacked), factor_of(a, w.kv_head * a.group + stacked % a.group, all));
    } else {
      const std::ptrdiff_t part = a.parts.at(w.unit, w.split) + row;
      write_sums(a.parts.sums + part * a.parts.stride, 1);
      if (lane_of() == 0) a.parts.shares[part] = all;
    }
  }
}

constexpr int kJoinWarps = 4;

// Joins the splits of a context, in their order: a warp for each row x head. Those of a single split are done.
// `at_once`: loads of a lane that are under way together.
template <class T, int at_once>
__global__ void __launch_bounds__(32 * kJoinWarps) join_parts_kernel(AttendArguments<T> a, int tiles, int stage) {
  static_assert(kMostSplits <= 64 && kMostSplits % at_once == 0);
  await_previous();
  const int lane = lane_of(), stacked = block_x() * kJoinWarps + warp_of();
  const int tile = stacked / a.parts.tile_rows, row = stacked % a.parts.tile_rows;
  const AttendWork w = work_of(a, tiles, tile, 0, a.parts.tile_rows, stage);
  if (!w.any || w.used == 1 || stacked >= w.rows * a.group) return;
  const std::ptrdiff_t first = a.parts.at(w.unit, 0) + row;                         // of the first split
  const std::ptrdiff_t apart = std::ptrdiff_t{a.parts.tile_rows} * a.parts.stride;  // sums of two splits
  Share mine[2];                                                                    // of splits `lane` and `lane` + 32
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
    Columns<float, 4> sum = {};
    for (int from = 0; from < w.used; from += at_once) {
      Columns<float, 4> part[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        part[i] = from + i < w.used && column < a.value_dim
                      ? *reinterpret_cast<const Columns<float, 4>*>(sums + (from + i) * apart)
                      : Columns<float, 4>{};
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        add(sum, __shfl_sync(kWarp, from + i < 32 ? low : high, (from + i) % 32), part[i]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (column + i < a.value_dim) y[column + i] = from_float<T>(sum.at[i] * factor);
  }
}

// Launches the join behind the kernel that left the parts, if the plan has any. `stage`: as that kernel's.
template <class T>
void join_parts(const AttendArguments<T>& a, const AttendPlan& plan, int kv_heads, int stage, cudaStream_t stream) {
  if (plan.splits == 1) return;
  const auto join = plan.splits <= 4   ? join_parts_kernel<T, 4>  // few loads take few registers: more warps fit
                    : plan.splits <= 8 ? join_parts_kernel<T, 8>
                                       : join_parts_kernel<T, 16>;
  launch_overlapping(join, grid_of(ceil_div(a.pass.widest * a.group, kJoinWarps), kv_heads, a.pass.sequences),
                     grid_of(32 * kJoinWarps), 0, stream, a, plan.tiles, stage);
}

}  // namespace draftline::cuda
