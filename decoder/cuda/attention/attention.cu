// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/attention/attention.h"

#include "core/errors.h"
#include "decoder/cuda/attention/attention_rows.cuh"
#include "decoder/cuda/attention/attention_tiles.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

template <class T>
__global__ void group_attend_rows(View<const T> q, View<const T> k, View<const T> v, int group, int dim, bool causal,
                                  float scale, View<T> y) {
  const int warp = warp_of(), lane = lane_of(), heads = q.cols / dim, ratio = heads / (k.cols / dim);
  float* queries = dynamic_shared<float>();
  float* weights = queries + kRowWarps * dim;
  const int task = block_x() * kRowWarps + warp;
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

// Calls f with the tiles for heads of so many columns; false if there are none.
template <class F>
bool with_tiles(int dim, int value_dim, bool many_rows, F f) {
  const auto call = [&](auto few, auto many) {
    if (many_rows) f(many);
    else f(few);
    return true;
  };
  if (dim == 192 && value_dim == 128) return call(Tiles<192, false, 128>{}, Tiles<192, true, 128>{});
  if (value_dim != dim) return false;
  switch (dim) {
    case 16: return call(Tiles<16, false>{}, Tiles<16, true>{});
    case 32: return call(Tiles<32, false>{}, Tiles<32, true>{});
    case 64: return call(Tiles<64, false>{}, Tiles<64, true>{});
    case 80: return call(Tiles<80, false>{}, Tiles<80, true>{});
    case 96: return call(Tiles<96, false>{}, Tiles<96, true>{});
    case 128: return call(Tiles<128, false>{}, Tiles<128, true>{});
    case 256: return call(Tiles<256, false>{}, Tiles<256, true>{});
    default: return false;
  }
}

void attend_tiles(const AttendArguments<bf16>& a, const AttendPlan& plan, dim3 grid, int kv_heads,
                  cudaStream_t stream) {
  check(a.q.stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(a.q.data) % sizeof(unsigned) == 0,
        "attention: queries are read in pairs");
  check(takes_columns(a.y), "attention: results are written up to four columns at a time");
  with_tiles(a.cache.head_dim, a.value_dim, plan.tile_rows > kFewRows, [&](auto tiles) {
    using S = decltype(tiles);
    launch_overlapping(attend_tiles_kernel<S, AttendArguments<bf16>>, grid, grid_of(S::threads), S::shared, stream, a);
    join_parts(a, plan, kv_heads, S::stage, stream);
  });
}

float score_scale(int dim) { return kLog2E / std::sqrt(to_float(dim)); }

}  // namespace

template <class T>
AttendPlan plan_attend(const AttendShape& s) {
  const int stacked = s.widest * (s.heads / s.kv_heads);
  AttendPlan p{.tile_rows = kRowWarps};
  int blocks = 3;  // of an SM
  if constexpr (std::is_same_v<T, bf16>)
    p.tensor_cores = with_tiles(s.head_dim, s.value_dim, stacked > kFewRows, [&](auto tiles) {
      p.tile_rows = decltype(tiles)::rows;
      blocks = decltype(tiles)::blocks;
    });
  p.tiles = ceil_div(stacked, p.tile_rows);
  p.splits = splits_for(std::int64_t{s.sequences} * s.kv_heads * p.tiles, blocks * s.sms, s.capacity);
  return p;
}

template <class T>
std::size_t attend_scratch(const AttendShape& s) {
  return scratch_of(plan_attend<T>(s), s.sequences * s.kv_heads, s.value_dim);
}

template <class T>
AttendShape shape_of(const OnDevice<T>& d, const Attend& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return {.sequences = rows.sequences(),
          .widest = rows.widest,
          .heads = o.q.cols / o.cache.head_dim,
          .kv_heads = o.cache.kv_heads,
          .head_dim = o.cache.head_dim,
          .value_dim = o.cache.value_dim,
          .capacity = d.capacity(o.cache),
          .sms = d.multiprocessors};
}
template <class T>
int launches(const OnDevice<T>& d, const Attend& o) {
  return plan_attend<T>(shape_of(d, o)).launches();
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const Attend& o) {
  return attend_scratch<T>(shape_of(d, o));
}
template <class T>
void run(const OnDevice<T>& d, const Attend& o) {
  const AttendShape shape = shape_of(d, o);
  const AttendPlan plan = plan_attend<T>(shape);
  const CacheView<T> cache = d.view(o.cache);
  check_columns(cache.widest());
  check(d.scratch.bytes >= attend_scratch<T>(shape), "attention: its scratch is too small");
  const AttendArguments<T> a{.q = d.in(o.q),
                             .pass = d.view(o.pass),
                             .cache = cache,
                             .layer = o.layer,
                             .group = shape.heads / shape.kv_heads,
                             .value_dim = shape.value_dim,
                             .window = o.cache.window,
                             .scale = o.scale * kLog2E,
                             .sinks = d.data(o.sinks),
                             .parts = parts_in(d.scratch, plan, shape.sequences * shape.kv_heads, shape.value_dim),
                             .y = d.out(o.y)};
  const dim3 grid = grid_of(plan.splits * plan.tiles, shape.kv_heads, shape.sequences);
  if constexpr (std::is_same_v<T, bf16>) {
    if (plan.tensor_cores) return attend_tiles(a, plan, grid, shape.kv_heads, d.stream);
  }
  launch(attend_rows<T>, grid, grid_of(32 * kRowWarps), rows_shared(cache.widest()), d.stream, a);
  join_parts(a, plan, shape.kv_heads, kRowStage, d.stream);
}

template <class T>
void run(const OnDevice<T>& d, const GroupAttend& o) {
  check_columns(o.head_dim);
  launch(group_attend_rows<T>, grid_of(ceil_div(o.q.rows * (o.q.cols / o.head_dim), kRowWarps)),
         grid_of(32 * kRowWarps), rows_shared(o.head_dim), d.stream, d.in(o.q), d.in(o.k), d.in(o.v), o.group,
         o.head_dim, o.causal, score_scale(o.head_dim), d.out(o.y));
}

template AttendPlan plan_attend<float>(const AttendShape&);
template AttendPlan plan_attend<bf16>(const AttendShape&);
template std::size_t attend_scratch<float>(const AttendShape&);
template std::size_t attend_scratch<bf16>(const AttendShape&);
FOR_FORMATS(int, launches, Attend);
FOR_FORMATS(std::size_t, scratch_bytes, Attend);
FOR_FORMATS(void, run, Attend);
FOR_FORMATS(void, run, GroupAttend);

}  // namespace draftline::cuda
