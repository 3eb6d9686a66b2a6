// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/attention/attention.h"

#include <algorithm>

#include "core/errors.h"
#include "decoder/cuda/attention/attention.cuh"
#include "decoder/cuda/attention/attention_tiles.cuh"

namespace draftline::cuda {

namespace {

// ---- without tensor cores: each warp has a row and a head; its lanes take keys for the scores, then columns for the
// sums

constexpr int kScalarWarps = 4, kMostColumns = 512;

// `key(j)` and `value(j)` are the columns of entry j; `visible(j)` says whether the row may attend to it. q is scaled
// such that scores are exponents of two.
template <class T, class Key, class Value, class Visible>
__device__ Share attend_row(const float* q, int dim, int begin, int end, Key key, Value value, Visible visible,
                            float* weights, float (&out)[kMostColumns / 32]) {
  const int lane = lane_of();
  float top = -INFINITY, sum = 0;
  for (int base = begin; base < end; base += 32) {
    const int j = base + lane;
    float score = -INFINITY;
    if (j < end && visible(j)) {
      const T* k = key(j);
      score = 0;
      for (int c = 0; c < dim; ++c) score += q[c] * to_float(k[c]);
    }
    const float higher = fmaxf(top, warp_reduce(score, Largest{}));
    const float keep = weight_of(top, higher), weight = weight_of(score, higher);
    top = higher;
    sum = sum * keep + weight;
    weights[lane] = weight;
    __syncwarp();
    const int n = min(32, end - base);
#pragma unroll
    for (int i = 0; i < kMostColumns / 32; ++i) {
      const int column = 32 * i + lane;
      if (column >= dim) continue;
      float s = out[i] * keep;
      for (int o = 0; o < n; ++o)
        if (weights[o] != 0) s += weights[o] * to_float(value(base + o)[column]);
      out[i] = s;
    }
    __syncwarp();
  }
  return {top, warp_reduce(sum, Plus{})};
}

template <class T>
__global__ void attend_rows(AttendArguments<T> a) {
  const AttendWork w = work_of_block(a, kScalarWarps, 32);
  if (!w.any) return;
  const int dim = a.cache.head_dim, warp = warp_of(), lane = lane_of();
  float* queries = dynamic_shared<float>();  // [warp][dim]; holds the results later
  float* weights = queries + kScalarWarps * dim;
  auto* shares = reinterpret_cast<Share*>(weights + kScalarWarps * 32);
  const int m = w.from + warp;
  if (m < w.rows * a.group) {
    const int index = m / a.group, row = w.first + index;
    const T* q = a.q.row(row) + (w.kv_head * a.group + m % a.group) * dim;
    for (int c = lane; c < dim; c += 32) queries[warp * dim + c] = to_float(q[c]) * a.scale;
    __syncwarp();
    float out[kMostColumns / 32] = {};
    const auto entry = [&](int key, int kv) -> const T* {
      return a.cache.entry(a.layer, w.kv_slot, key, kv, w.kv_head);
    };
    const Share share = attend_row<T>(
        queries + warp * dim, dim, w.begin, w.end, [&](int key) { return entry(key, 0); },
        [&](int key) { return entry(key, 1); },
        [&](int key) { return attends_to(a.pass, a.window, row, index, w.length, key); }, weights + warp * 32, out);
#pragma unroll
    for (int i = 0; i < kMostColumns / 32; ++i)
      if (32 * i + lane < dim) queries[warp * dim + 32 * i + lane] = out[i];
    if (lane == 0) shares[warp] = share;
  }
  __syncthreads();
  finish_tile(a, w, queries, shares, 1, kScalarWarps, dim);
}

template <class T>
__global__ void group_attend_rows(View<const T> q, View<const T> k, View<const T> v, int group, int dim, bool causal,
                                  float scale, View<T> y) {
  const int warp = warp_of(), lane = lane_of(), heads = q.cols / dim, ratio = heads / (k.cols / dim);
  float* queries = dynamic_shared<float>();
  float* weights = queries + kScalarWarps * dim;
  const int task = static_cast<int>(blockIdx.x) * kScalarWarps + warp;
  if (task >= q.rows * heads) return;
  const int row = task / heads, head = task % heads, first = row / group * group;
  float* mine = queries + warp * dim;
  for (int c = lane; c < dim; c += 32) mine[c] = to_float(q.row(row)[head * dim + c]) * scale;
  __syncwarp();
  float out[kMostColumns / 32] = {};
  const int at = head / ratio * dim;
  const Share share = attend_row<T>(
      mine, dim, first, causal ? row + 1 : first + group, [&](int j) { return k.row(j) + at; },
      [&](int j) { return v.row(j) + at; }, [](int) { return true; }, weights + warp * 32, out);
#pragma unroll
  for (int i = 0; i < kMostColumns / 32; ++i)
    if (32 * i + lane < dim) y.row(row)[head * dim + 32 * i + lane] = from_float<T>(out[i] / share.sum);
}

std::size_t scalar_shared(int dim) {
  return static_cast<std::size_t>(kScalarWarps * (dim + 32)) * sizeof(float) + kScalarWarps * sizeof(Share);
}

float score_scale(int dim) { return kLog2E / std::sqrt(static_cast<float>(dim)); }

}  // namespace

template <class T>
AttendPlan plan_attend(const AttendShape& s) {
  const int stacked = s.widest * (s.heads / s.kv_heads);
  AttendPlan p{};
  p.tensor_cores = std::is_same_v<T, bf16> && has_tiles(s.head_dim);
  p.tile_rows = !p.tensor_cores ? kScalarWarps : stacked <= 16 ? 16 : 64;
  p.tiles = ceil_div(stacked, p.tile_rows);
  const std::int64_t units = std::int64_t{s.sequences} * s.kv_heads * p.tiles;
  constexpr int kBlocksPerSm = 3;  // as many as fit on an SM at the same time (docs/cuda.md)
  const auto wanted = static_cast<int>((std::int64_t{kBlocksPerSm} * s.sms + units - 1) / units);
  p.splits = units > kCounters ? 1 : std::clamp(std::min(wanted, ceil_div(s.capacity, kLeastKeys)), 1, kMostSplits);
  return p;
}

template <class T>
std::size_t attend_scratch(const AttendShape& s) {
  const AttendPlan p = plan_attend<T>(s);
  if (p.splits == 1) return kCounterBytes;
  return kCounterBytes + sizeof(float) * static_cast<std::size_t>(s.sequences) * static_cast<std::size_t>(s.kv_heads) *
                             static_cast<std::size_t>(p.tiles) * static_cast<std::size_t>(p.splits) *
                             static_cast<std::size_t>(p.tile_rows) * static_cast<std::size_t>(s.head_dim + 2);
}

template <class T>
void attend(View<const T> q, const PassView& pass, const CacheView<T>& cache, int layer, const Scores& scores, int sms,
            const Scratch& scratch, View<T> y, cudaStream_t stream) {
  const int dim = cache.head_dim, heads = q.cols / dim;
  const AttendShape shape{.sequences = pass.sequences,
                          .widest = pass.widest,
                          .heads = heads,
                          .kv_heads = cache.kv_heads,
                          .head_dim = dim,
                          .capacity = cache.blocks_per_kv_slot * kBlockTokens,
                          .sms = sms};
  const AttendPlan plan = plan_attend<T>(shape);
  check(dim <= kMostColumns, "attention: at most 512 columns a head");
  check(scratch.bytes >= attend_scratch<T>(shape), "attention: its scratch is too small");
  const AttendArguments<T> a{.q = q,
                             .pass = pass,
                             .cache = cache,
                             .layer = layer,
                             .group = heads / cache.kv_heads,
                             .splits = plan.splits,
                             .window = scores.window,
                             .scale = scores.scale * kLog2E,
                             .sinks = static_cast<const T*>(scores.sinks),
                             .counters = counters_of(scratch),
                             .parts = behind_counters<float>(scratch),
                             .y = y};
  const dim3 grid = grid_of(plan.splits * plan.tiles, cache.kv_heads, pass.sequences);
  if constexpr (std::is_same_v<T, bf16>) {
    if (plan.tensor_cores) return attend_tiles(a, plan.tile_rows, grid, stream);
  }
  launch(attend_rows<T>, grid, grid_of(32 * kScalarWarps), scalar_shared(dim), stream, a);
}

template <class T>
void group_attend(View<const T> q, View<const T> k, View<const T> v, int group, int head_dim, bool causal, View<T> y,
                  cudaStream_t stream) {
  check(head_dim <= kMostColumns, "attention: at most 512 columns a head");
  launch(group_attend_rows<T>, grid_of(ceil_div(q.rows * (q.cols / head_dim), kScalarWarps)),
         grid_of(32 * kScalarWarps), scalar_shared(head_dim), stream, q, k, v, group, head_dim, causal,
         score_scale(head_dim), y);
}

template AttendPlan plan_attend<float>(const AttendShape&);
template AttendPlan plan_attend<bf16>(const AttendShape&);
template std::size_t attend_scratch<float>(const AttendShape&);
template std::size_t attend_scratch<bf16>(const AttendShape&);
template void attend<float>(View<const float>, const PassView&, const CacheView<float>&, int, const Scores&, int,
                            const Scratch&, View<float>, cudaStream_t);
template void attend<bf16>(View<const bf16>, const PassView&, const CacheView<bf16>&, int, const Scores&, int,
                           const Scratch&, View<bf16>, cudaStream_t);
template void group_attend<float>(View<const float>, View<const float>, View<const float>, int, int, bool, View<float>,
                                  cudaStream_t);
template void group_attend<bf16>(View<const bf16>, View<const bf16>, View<const bf16>, int, int, bool, View<bf16>,
                                 cudaStream_t);

}  // namespace draftline::cuda
