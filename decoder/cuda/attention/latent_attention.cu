// SPDX-License-Identifier: Apache-2.0
// Latent attention, absorbed and expanded. Absorbed attention has a second launch where contexts are split.
#include "core/errors.h"
#include "decoder/cuda/attention/attention_rows.cuh"
#include "decoder/cuda/attention/attention_tiles.cuh"
#include "decoder/cuda/attention/latent_tiles.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

template <bool many_rows>
using Served = LatentTiles<512, 64, many_rows>;  // DeepSeek-V2, V3, Kimi-K2
template <bool many_rows>
using Small = LatentTiles<64, 32, many_rows>;  // for tests
using Prompts = Tiles<192, true, 128, 128>;
using SmallPrompts = Tiles<48, true, 16, 32>;

template <class S>
bool fits(const LatentShape& s) {
  return s.rank == S::rank && s.rope == S::rope && s.shared >= S::shared;
}
template <class S>
bool fits(const LatentAttention& l) {
  return l.nope_dim == S::own && l.nope_dim + l.rope_dim == S::dim && l.value_dim == S::value_dim;
}

template <class S>
void launch_latent_tiles(const AttendArguments<bf16>& a, const AttendPlan& plan, dim3 grid, cudaStream_t stream) {
  launch_overlapping(latent_tiles_kernel<S>, grid, grid_of(S::threads), S::shared, stream, a);
  join_parts(a, plan, 1, S::stage, stream);
}

template <class S>
void launch_prompts(const ExpandedArguments<bf16>& a, int heads, cudaStream_t stream) {
  launch_overlapping(attend_tiles_kernel<S, ExpandedArguments<bf16>>,
                     grid_of(ceil_div(a.pass.widest, S::rows), heads, a.pass.sequences), grid_of(S::threads), S::shared,
                     stream, a);
}

// grid (row and head, sequences)
template <class T>
__global__ void expanded_rows(ExpandedArguments<T> a, int heads, int nope, int rope) {
  const int b = block_y(), first = *a.pass.cu_seqlens.row(b), warp = warp_of(), lane = lane_of();
  const int task = block_x() * kRowWarps + warp, row = first + task / heads, head = task % heads;
  if (row >= *a.pass.cu_seqlens.row(b + 1)) return;
  const int dim = nope + rope, at = head * (nope + a.value_dim);
  float* mine = dynamic_shared<float>() + warp * dim;
  float* weights = dynamic_shared<float>() + kRowWarps * dim + 32 * warp;
  for (int c = lane; c < dim; c += 32)
    mine[c] = a.scale * to_float(c < nope ? a.q.row(row)[head * dim + c] : a.q_rope.row(row)[head * rope + c - nope]);
  __syncwarp();
  float out[kMostColumns / 32] = {};
  const Share share = attend_row(
      a.value_dim, first, row + 1,
      [&](int j) { return dot(mine, a.kv.row(j) + at, nope) + dot(mine + nope, a.k_rope.row(j), rope); },
      [&](int j) { return a.kv.row(j) + at + nope; }, weights, out);
#pragma unroll
  for (int i = 0; i < kMostColumns / 32; ++i)
    if (32 * i + lane < a.value_dim)
      a.y.row(row)[head * a.value_dim + 32 * i + lane] = from_float<T>(out[i] / share.sum);
}

template <class T>
bool aligned(const View<const T>& v) {  // copies of 16 bytes
  return v.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(v.data) % sizeof(uint4) == 0;
}

}  // namespace

template <class T>
AttendPlan plan_latent(const LatentShape& s) {
  const int stacked = s.widest * s.heads;
  const bool few = fits<Served<false>>(s) || fits<Small<false>>(s),
             many = fits<Served<true>>(s) || fits<Small<true>>(s);
  AttendPlan p{};
  p.tensor_cores = std::is_same_v<T, bf16> && few;
  const bool tall = p.tensor_cores && many && stacked > Served<false>::rows;
  p.tile_rows = !p.tensor_cores ? kRowWarps : tall ? Served<true>::rows : Served<false>::rows;
  p.tiles = ceil_div(stacked, p.tile_rows);
  const int blocks_per_sm = tall ? 1 : 2;  // as many as shared memory has room for (docs/explanation/cuda.md)
  p.splits = splits_for(std::int64_t{s.sequences} * p.tiles, blocks_per_sm * s.sms, s.capacity);
  return p;
}

template <class T>
std::size_t latent_scratch(const LatentShape& s) {
  return scratch_of(plan_latent<T>(s), s.sequences, s.rank);
}

template <class T>
LatentShape shape_of(const OnDevice<T>& d, const LatentAttend& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return {.sequences = rows.sequences(),
          .widest = rows.widest,
          .heads = o.q.cols / o.cache.latent,
          .rank = o.cache.latent,
          .rope = o.cache.head_dim - o.cache.latent,
          .capacity = d.capacity(o.cache),
          .sms = d.multiprocessors,
          .shared = d.shared};
}
template <class T>
int launches(const OnDevice<T>& d, const LatentAttend& o) {
  return o.tokens ? 1 : plan_latent<T>(shape_of(d, o)).launches();
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const LatentAttend& o) {
  return o.tokens ? 0 : latent_scratch<T>(shape_of(d, o));
}
template <class T>
void attend_to_tokens(const OnDevice<T>&, const LatentAttend&);  // sparse_attention.cu

template <class T>
void run(const OnDevice<T>& d, const LatentAttend& o) {
  if (o.tokens) return attend_to_tokens(d, o);
  const LatentShape shape = shape_of(d, o);
  const AttendPlan plan = plan_latent<T>(shape);
  check_columns(shape.rank);
  check(d.scratch.bytes >= latent_scratch<T>(shape), "latent attention: its scratch is too small");
  const AttendArguments<T> a{.q = d.in(o.q),
                             .pass = d.view(o.pass),
                             .cache = d.view(o.cache),
                             .layer = o.layer,
                             .group = shape.heads,
                             .value_dim = shape.rank,
                             .window = {},
                             .scale = o.scale * kLog2E,
                             .sinks = nullptr,
                             .parts = parts_in(d.scratch, plan, shape.sequences, shape.rank),
                             .y = d.out(o.y),
                             .q_rope = d.in(o.q_rope)};
  const dim3 grid = grid_of(plan.splits * plan.tiles, 1, shape.sequences);
  if constexpr (std::is_same_v<T, bf16>) {
    if (plan.tensor_cores) {
      check(aligned(a.q) && aligned(a.q_rope), "latent attention: queries are read 16 bytes at a time");
      check(takes_columns(a.y), "latent attention: results are written four columns at a time");
      const bool tall = plan.tile_rows == Served<true>::rows, small = fits<Small<false>>(shape);
      if (small)
        return tall ? launch_latent_tiles<Small<true>>(a, plan, grid, d.stream)
                    : launch_latent_tiles<Small<false>>(a, plan, grid, d.stream);
      return tall ? launch_latent_tiles<Served<true>>(a, plan, grid, d.stream)
                  : launch_latent_tiles<Served<false>>(a, plan, grid, d.stream);
    }
  }
  launch(attend_rows<T>, grid, grid_of(32 * kRowWarps), rows_shared(a.cache.head_dim), d.stream, a);
  join_parts(a, plan, 1, kRowStage, d.stream);
}

template <class T>
void run(const OnDevice<T>& d, const ExpandedAttend& o) {
  const LatentAttention& l = o.dims;
  const int heads = o.q_rope.cols / l.rope_dim;
  check_columns(l.value_dim);
  ExpandedArguments<T> a{};
  a.q = d.in(o.q);
  a.q_rope = d.in(o.q_rope);
  a.kv = d.in(o.kv);
  a.k_rope = d.in(o.k_rope);
  a.pass = d.view(o.pass);
  a.pass.slots = {};
  a.pass.tree_mask = {};
  a.pass.tail = 0;
  a.pass.causal = true;
  a.group = a.parts.splits = 1;
  a.value_dim = l.value_dim;
  a.scale = o.scale * kLog2E;
  a.y = d.out(o.y);
  if constexpr (std::is_same_v<T, bf16>) {
    if (aligned(a.q) && aligned(a.q_rope) && aligned(a.kv) && aligned(a.k_rope) && takes_columns(a.y)) {
      if (fits<Prompts>(l)) return launch_prompts<Prompts>(a, heads, d.stream);
      if (fits<SmallPrompts>(l)) return launch_prompts<SmallPrompts>(a, heads, d.stream);
    }
  }
  launch(expanded_rows<T>, grid_of(ceil_div(a.pass.widest * heads, kRowWarps), a.pass.sequences),
         grid_of(32 * kRowWarps), rows_shared(l.nope_dim + l.rope_dim), d.stream, a, heads, l.nope_dim, l.rope_dim);
}

#define FOR_FORMAT(T)                                     \
  template AttendPlan plan_latent<T>(const LatentShape&); \
  template std::size_t latent_scratch<T>(const LatentShape&)
FOR_FORMAT(float);
FOR_FORMAT(bf16);
FOR_FORMATS(int, launches, LatentAttend);
FOR_FORMATS(std::size_t, scratch_bytes, LatentAttend);
FOR_FORMATS(void, run, LatentAttend);
FOR_FORMATS(void, run, ExpandedAttend);

}  // namespace draftline::cuda
