// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/attention/attention.h"

#include "core/errors.h"
#include "decoder/cuda/attention/attention_rows.cuh"
#include "decoder/cuda/attention/attention_tiles.cuh"

namespace draftline::cuda {

namespace {

template <class T>
__global__ void group_attend_rows(View<const T> q, View<const T> k, View<const T> v, int group, int dim, bool causal,
                                  float scale, View<T> y) {
  const int warp = warp_of(), lane = lane_of(), heads = q.cols / dim, ratio = heads / (k.cols / dim);
  float* queries = dynamic_shared<float>();
  float* weights = queries + kRowWarps * dim;
  const int task = static_cast<int>(blockIdx.x) * kRowWarps + warp;
  if (task >= q.rows * heads) return;
  const int row = task / heads, head = task % heads, first = row / group * group;
  float* mine = queries + warp * dim;
  for (int c = lane; c < dim; c += 32) mine[c] = to_float(q.row(row)[head * dim + c]) * scale;
  __syncwarp();
  float out[kMostColumns / 32] = {};
  const int at = head / ratio * dim;
  const Share share = attend_row(
      dim, first, causal ? row + 1 : first + group, [&](int j) { return dot(mine, k.row(j) + at, dim); },
      [&](int j) { return v.row(j) + at; }, weights + warp * 32, out);
#pragma unroll
  for (int i = 0; i < kMostColumns / 32; ++i)
    if (32 * i + lane < dim) y.row(row)[head * dim + 32 * i + lane] = from_float<T>(out[i] / share.sum);
}

template <int dim>
void attend_tiles_of(const AttendArguments<bf16>& a, int tile_rows, dim3 grid, cudaStream_t stream) {
  using Few = Tiles<dim, false>;
  using Many = Tiles<dim, true>;
  using A = AttendArguments<bf16>;
  if (tile_rows == Few::rows)
    launch_overlapping(attend_tiles_kernel<Few, A>, grid, grid_of(Few::threads), Few::shared, stream, a);
  else launch_overlapping(attend_tiles_kernel<Many, A>, grid, grid_of(Many::threads), Many::shared, stream, a);
}

constexpr bool has_tiles(int dim) {
  return dim == 16 || dim == 32 || dim == 64 || dim == 80 || dim == 96 || dim == 128 || dim == 256;
}

void attend_tiles(const AttendArguments<bf16>& a, int tile_rows, dim3 grid, cudaStream_t stream) {
  check(a.q.stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(a.q.data) % sizeof(unsigned) == 0,
        "attention: queries are read in pairs");
  switch (a.cache.head_dim) {
    case 16: return attend_tiles_of<16>(a, tile_rows, grid, stream);
    case 32: return attend_tiles_of<32>(a, tile_rows, grid, stream);
    case 64: return attend_tiles_of<64>(a, tile_rows, grid, stream);
    case 80: return attend_tiles_of<80>(a, tile_rows, grid, stream);
    case 96: return attend_tiles_of<96>(a, tile_rows, grid, stream);
    case 128: return attend_tiles_of<128>(a, tile_rows, grid, stream);
    case 256: return attend_tiles_of<256>(a, tile_rows, grid, stream);
    default: check(false, "attention: no tiles for that head");
  }
}

float score_scale(int dim) { return kLog2E / std::sqrt(static_cast<float>(dim)); }

}  // namespace

template <class T>
AttendPlan plan_attend(const AttendShape& s) {
  const int stacked = s.widest * (s.heads / s.kv_heads);
  AttendPlan p{};
  p.tensor_cores = std::is_same_v<T, bf16> && has_tiles(s.head_dim);
  p.tile_rows = !p.tensor_cores ? kRowWarps : stacked <= 16 ? 16 : 64;
  p.tiles = ceil_div(stacked, p.tile_rows);
  constexpr int kBlocksPerSm = 3;  // as many as fit on an SM at the same time (docs/cuda.md)
  p.splits = splits_for(std::int64_t{s.sequences} * s.kv_heads * p.tiles, kBlocksPerSm * s.sms, s.capacity);
  return p;
}

template <class T>
std::size_t attend_scratch(const AttendShape& s) {
  return scratch_of(plan_attend<T>(s), s.sequences * s.kv_heads, s.head_dim);
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
  check_columns(dim);
  check(scratch.bytes >= attend_scratch<T>(shape), "attention: its scratch is too small");
  const AttendArguments<T> a{.q = q,
                             .pass = pass,
                             .cache = cache,
                             .layer = layer,
                             .group = heads / cache.kv_heads,
                             .splits = plan.splits,
                             .value_dim = dim,
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
  launch(attend_rows<T>, grid, grid_of(32 * kRowWarps), rows_shared(dim), stream, a);
}

template <class T>
void group_attend(View<const T> q, View<const T> k, View<const T> v, int group, int head_dim, bool causal, View<T> y,
                  cudaStream_t stream) {
  check_columns(head_dim);
  launch(group_attend_rows<T>, grid_of(ceil_div(q.rows * (q.cols / head_dim), kRowWarps)), grid_of(32 * kRowWarps),
         rows_shared(head_dim), stream, q, k, v, group, head_dim, causal, score_scale(head_dim), y);
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
