// SPDX-License-Identifier: Apache-2.0
// The grouped GEMM on tensor cores: a CTA computes a strip of columns for a group of an expert's rows, and its warps
// share the columns. Weights and rows pass through four stages of shared memory that are filled asynchronously. A warp
// adds all inputs in order, so that sums do not depend on the number of rows.
#pragma once
#include "decoder/cuda/experts/expert_products.cuh"
#include "decoder/cuda/gemm/mma.cuh"

namespace draftline::cuda {

template <bool many_rows>
struct ExpertTiles {
  static constexpr int warps = 4, threads = 32 * warps, row_tiles = many_rows ? 4 : 1, rows = 16 * row_tiles;
  static constexpr int columns = many_rows ? 128 : 64;  // of the weights
  static constexpr int deep = many_rows ? 32 : 64;      // inputs of a stage
  static constexpr int pairs = columns / (16 * warps);  // of tiles of eight columns, of a warp
  static constexpr int stages = 4;
  static constexpr int w_row = columns + 8, x_row = deep + 8;  // padded, so that eight rows lie in different banks
  static constexpr int x_begin = deep * w_row, stage = x_begin + rows * x_row;
  static constexpr std::size_t shared = sizeof(bf16) * stages * stage;
};

// The copies that a thread makes to each stage: 16 bytes of some rows of the weights and of the inputs, in the same
// columns.
template <class S, class P>
struct ExpertCopies {
  static constexpr int across = S::columns / 8, x_across = S::deep / 8;  // copies of a row
  static constexpr int w_step = S::threads / across, x_step = S::threads / x_across;
  static_assert(S::deep % w_step == 0 && S::rows % x_step == 0, "every thread makes as many copies");
  const bf16 *w, *x[S::rows / x_step];
  int in, stride, w_to, x_to, w_k, x_k;
  bool inside;

  __device__ ExpertCopies(const P& p, const ExpertGroup& g, int from) : in(p.in), stride(P::matrices * p.out) {
    const int me = thread_x(), c = me % across, of_matrix = across / P::matrices;
    const int column = from + c % of_matrix * 8;
    inside = column < p.out;
    w = weights_of(p, g) + (inside ? c / of_matrix * p.out + column : 0);
    w_k = me / across;
    w_to = w_k * S::w_row + c * 8;
    x_k = me % x_across * 8;
    x_to = S::x_begin + me / x_across * S::x_row + x_k;
#pragma unroll
    for (int i = 0; i < S::rows / x_step; ++i) {
      const int r = me / x_across + i * x_step;
      x[i] = r < g.rows ? p.input(g.begin + r) : nullptr;
    }
  }
  // Copies inputs from `k` on, and zeros beyond the end, as a NaN there would make the product NaN.
  __device__ void fill(bf16* stage, int k) const {
#pragma unroll
    for (int i = 0; i < S::deep / w_step; ++i) {
      const int at = k + w_k + i * w_step;
      const bool present = inside && at < in;
      copy_later(stage + w_to + i * w_step * S::w_row, present ? w + std::ptrdiff_t{at} * stride : w, present);
    }
#pragma unroll
    for (int i = 0; i < S::rows / x_step; ++i) {
      const bool present = x[i] != nullptr && k + x_k < in;
      copy_later(stage + x_to + i * x_step * S::x_row, present ? x[i] + k + x_k : w, present);
    }
  }
};

// grid (groups, columns of the result)
template <class S, class P>
__global__ void __launch_bounds__(S::threads) expert_tiles_kernel(P p) {
  await_previous();
  ExpertGroup g;
  if (!group_of_block(p.lists, &g)) return;
  auto* stages = dynamic_shared<bf16>();
  constexpr int strip = S::columns / P::matrices;
  const int lane = lane_of(), warp = warp_of(), from = block_y() * strip;
  const ExpertCopies<S, P> copies(p, g, from);
  const int count = ceil_div(p.in, S::deep);
  const auto stage_of = [&](int s) { return stages + s % S::stages * S::stage; };
  const auto fill = [&](int s) {
    if (s < count) copies.fill(stage_of(s), s * S::deep);
    end_batch();
  };
  // The two tiles of a pair have the same columns of gate and up, or neighbouring columns.
  const auto first = [&](int pair) { return (warp * S::pairs + pair) * (P::matrices == 2 ? 8 : 16); };
  constexpr int apart = P::matrices == 2 ? strip : 8;

  float sum[S::row_tiles][S::pairs][2][4] = {};
#pragma unroll
  for (int s = 0; s < S::stages - 1; ++s) fill(s);
  for (int s = 0; s < count; ++s) {
    wait_for_copies<S::stages - 2>();
    __syncthreads();  // this stage is complete, and no warp reads the one before it any more
    fill(s + S::stages - 1);
    const bf16* w = stage_of(s) + lane % 16 * S::w_row + lane / 16 * apart;
    const bf16* x = stage_of(s) + S::x_begin + lane % 16 * S::x_row + lane / 16 * 8;
#pragma unroll
    for (int step = 0; step < S::deep / 16; ++step) {
      unsigned b[S::pairs][4];
#pragma unroll
      for (int i = 0; i < S::pairs; ++i) load_tiles<true>(b[i], w + 16 * step * S::w_row + first(i));
#pragma unroll
      for (int r = 0; r < S::row_tiles; ++r) {
        if (16 * r >= g.rows) break;
        unsigned a[4];
        load_tiles<false>(a, x + 16 * r * S::x_row + 16 * step);
#pragma unroll
        for (int i = 0; i < S::pairs; ++i) {
          multiply_tile(sum[r][i][0], a, b[i][0], b[i][1]);
          multiply_tile(sum[r][i][1], a, b[i][2], b[i][3]);
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < S::row_tiles; ++r)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int row = 16 * r + lane / 4 + e / 2 * 8;
      if (row >= g.rows) continue;
#pragma unroll
      for (int i = 0; i < S::pairs; ++i) {
        const int c = from + first(i) + lane % 4 * 2 + e % 2;
        if constexpr (P::matrices == 2) {
          if (c < p.out) p.put(g, row, c, sum[r][i][0][e], sum[r][i][1][e]);
        } else {
          if (c < p.out) p.put(g, row, c, sum[r][i][0][e]);
          if (c + apart < p.out) p.put(g, row, c + apart, sum[r][i][1][e]);
        }
      }
    }
  p.done(g, from, strip);
}

}  // namespace draftline::cuda
