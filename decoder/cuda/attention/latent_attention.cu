// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/attention/latent_attention.h"

#include "core/errors.h"
#include "decoder/cuda/attention/attention_rows.cuh"
#include "decoder/cuda/attention/attention_tiles.cuh"
#include "decoder/cuda/attention/latent_tiles.cuh"

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
bool fits(const ExpandedShape& s) {
  return s.nope == S::own && s.nope + s.rope == S::dim && s.value == S::value_dim;
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
void latent_attend(const LatentAttendView<T>& o, const LatentShape& shape, const Scratch& scratch,
                   cudaStream_t stream) {
  const auto& [q, q_rope, pass, cache, layer, scale, y] = o;
  const AttendPlan plan = plan_latent<T>(shape);
  check_columns(shape.rank);
  check(scratch.bytes >= latent_scratch<T>(shape), "latent attention: its scratch is too small");
  const AttendArguments<T> a{.q = q,
                             .pass = pass,
                             .cache = cache,
                             .layer = layer,
                             .group = shape.heads,
                             .value_dim = shape.rank,
                             .window = {},
                             .scale = scale * kLog2E,
                             .sinks = nullptr,
                             .parts = parts_in(scratch, plan, pass.sequences, shape.rank),
                             .y = y,
                             .q_rope = q_rope};
  const dim3 grid = grid_of(plan.splits * plan.tiles, 1, pass.sequences);
  if constexpr (std::is_same_v<T, bf16>) {
    if (plan.tensor_cores) {
      check(aligned(q) && aligned(q_rope), "latent attention: queries are read 16 bytes at a time");
      check(takes_columns(y), "latent attention: results are written four columns at a time");
      const bool tall = plan.tile_rows == Served<true>::rows, small = fits<Small<false>>(shape);
      if (small)
        return tall ? launch_latent_tiles<Small<true>>(a, plan, grid, stream)
                    : launch_latent_tiles<Small<false>>(a, plan, grid, stream);
      return tall ? launch_latent_tiles<Served<true>>(a, plan, grid, stream)
                  : launch_latent_tiles<Served<false>>(a, plan, grid, stream);
    }
  }
  launch(attend_rows<T>, grid, grid_of(32 * kRowWarps), rows_shared(cache.head_dim), stream, a);
  join_parts(a, plan, 1, kRowStage, stream);
}

template <class T>
void expanded_attend(const ExpandedAttendView<T>& o, const ExpandedShape& shape, cudaStream_t stream) {
  const auto& [q, q_rope, kv, k_rope, pass, scale, y] = o;
  check_columns(shape.value);
  ExpandedArguments<T> a{};
  a.q = q;
  a.q_rope = q_rope;
  a.kv = kv;
  a.k_rope = k_rope;
  a.pass = pass;
  a.pass.slots = {};
  a.pass.tree_mask = {};
  a.pass.tail = 0;
  a.pass.causal = true;
  a.group = a.parts.splits = 1;
  a.value_dim = shape.value;
  a.scale = scale * kLog2E;
  a.y = y;
  if constexpr (std::is_same_v<T, bf16>) {
    if (aligned(q) && aligned(q_rope) && aligned(kv) && aligned(k_rope) && takes_columns(y)) {
      if (fits<Prompts>(shape)) return launch_prompts<Prompts>(a, shape.heads, stream);
      if (fits<SmallPrompts>(shape)) return launch_prompts<SmallPrompts>(a, shape.heads, stream);
    }
  }
  launch(expanded_rows<T>, grid_of(ceil_div(pass.widest * shape.heads, kRowWarps), pass.sequences),
         grid_of(32 * kRowWarps), rows_shared(shape.nope + shape.rope), stream, a, shape.heads, shape.nope, shape.rope);
}

#define FOR_FORMAT(T)                                                                                        \
  template AttendPlan plan_latent<T>(const LatentShape&);                                                    \
  template std::size_t latent_scratch<T>(const LatentShape&);                                                \
  template void latent_attend(const LatentAttendView<T>&, const LatentShape&, const Scratch&, cudaStream_t); \
  template void expanded_attend(const ExpandedAttendView<T>&, const ExpandedShape&, cudaStream_t)
FOR_FORMAT(float);
FOR_FORMAT(bf16);

}  // namespace draftline::cuda
