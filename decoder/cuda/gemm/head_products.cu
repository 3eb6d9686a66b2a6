// SPDX-License-Identifier: Apache-2.0
// Each head's product with its own part of a matrix that all heads share (AbsorbQueries and ExpandValues in
// decoder/op/latent_attention.h). One launch for all heads. In bf16 a CTA computes 64 columns of a head for 16 or 64
// rows on tensor cores; weights and rows pass through four stages of shared memory. The first weights do not wait for
// the kernel before this one, as no kernel writes weights.
#include "decoder/cuda/gemm/mma.cuh"
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

// Output c of head h is the sum over i of x[row][h * x_apart + i] * w_h(i, c), at y[row][h * out + c]. The weights of a
// head begin w_apart columns behind those of the one before; w_h(i, c) is at row i, column c, or, transposed, at row c,
// column i.
template <class T>
struct HeadProducts {
  View<const T> x;
  const T* w;
  View<T> y;
  int heads, in, out;
  int x_apart, w_apart, w_stride;
  bool transposed;
};
template <int row_tiles_>
struct HeadTiles {
  static constexpr int warps = 4, threads = 32 * warps, row_tiles = row_tiles_, rows = 16 * row_tiles;
  static constexpr int columns = 16 * warps, deep = 64, stages = 4;
  static constexpr int row = deep + 8;  // padded, so that eight rows lie in different banks
  static_assert(columns == deep, "a stage of weights has the same shape either way round");
  static constexpr int x_begin = columns * row, stage = x_begin + rows * row;
  static constexpr std::size_t shared = sizeof(bf16) * stages * stage;
};

// Copies a stage of weights: 64 x 64 of them, zeros beyond the ends, as a NaN there would make the product NaN.
template <class S, bool transposed>
__device__ void fill_weights(const HeadProducts<bf16>& p, const bf16* w, int from, int k, bf16* to) {
  constexpr int chunks = S::deep / 8;
  const int first_row = transposed ? from : k, first_column = transposed ? k : from;
  const int rows = transposed ? p.out : p.in, columns = transposed ? p.in : p.out;
#pragma unroll
  for (int c = thread_x(); c < S::columns * chunks; c += S::threads) {
    const int r = first_row + c / chunks, column = first_column + c % chunks * 8;
    const bool present = r < rows && column < columns;
    copy_later(to + c / chunks * S::row + c % chunks * 8, present ? w + std::ptrdiff_t{r} * p.w_stride + column : w,
               present);
  }
}
template <class S>
__device__ void fill_rows(const HeadProducts<bf16>& p, int head, int first, int k, bf16* to) {
  constexpr int chunks = S::deep / 8;
#pragma unroll
  for (int c = thread_x(); c < S::rows * chunks; c += S::threads) {
    const int r = first + c / chunks, column = k + c % chunks * 8;
    const bool present = r < p.x.rows && column < p.in;
    copy_later(to + c / chunks * S::row + c % chunks * 8, present ? p.x.row(r) + head * p.x_apart + column : p.w,
               present);
  }
}

// grid (tiles of rows, columns of a head, heads): tiles that share weights are neighbours
template <class S, bool transposed>
__global__ void __launch_bounds__(S::threads) head_tiles_kernel(HeadProducts<bf16> p) {
  const int first = block_x() * S::rows, from = block_y() * S::columns;
  const int head = block_z(), lane = lane_of(), warp = warp_of();
  const bf16* w = p.w + head * p.w_apart;
  auto* stages = dynamic_shared<bf16>();
  const int count = ceil_div(p.in, S::deep);
  const auto stage_of = [&](int s) { return stages + s % S::stages * S::stage; };
  const auto weights = [&](int s) {
    if (s < count) fill_weights<S, transposed>(p, w, from, s * S::deep, stage_of(s));
  };
  const auto rows = [&](int s) {
    if (s < count) fill_rows<S>(p, head, first, s * S::deep, stage_of(s) + S::x_begin);
    end_batch();
  };
#pragma unroll
  for (int s = 0; s < S::stages - 1; ++s) weights(s);
  await_previous();
#pragma unroll
  for (int s = 0; s < S::stages - 1; ++s) rows(s);

  float sum[S::row_tiles][2][4] = {};
  for (int s = 0; s < count; ++s) {
    wait_for_copies<S::stages - 2>();
    __syncthreads();  // this stage is complete, and no warp reads the one before it any more
    weights(s + S::stages - 1);
    rows(s + S::stages - 1);
    const bf16* x = stage_of(s) + S::x_begin + lane % 16 * S::row + lane / 16 * 8;
#pragma unroll
    for (int step = 0; step < S::deep / 16; ++step) {
      unsigned b[4];
      if constexpr (transposed)
        load_tiles<false>(b,
                          stage_of(s) + (16 * warp + lane / 16 * 8 + lane % 8) * S::row + 16 * step + lane / 8 % 2 * 8);
      else load_tiles<true>(b, stage_of(s) + (16 * step + lane % 16) * S::row + 16 * warp + lane / 16 * 8);
#pragma unroll
      for (int r = 0; r < S::row_tiles; ++r) {
        unsigned a[4];
        load_tiles<false>(a, x + 16 * r * S::row + 16 * step);
        multiply_tile(sum[r][0], a, b[0], b[1]);
        multiply_tile(sum[r][1], a, b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < S::row_tiles; ++r)
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = first + 16 * r + lane / 4 + e / 2 * 8, c = from + 16 * warp + 8 * i + lane % 4 * 2 + e % 2;
        if (row < p.x.rows && c < p.out) p.y.row(row)[head * p.out + c] = from_float<bf16>(sum[r][i][e]);
      }
}

// A thread for each column. grid (rows, columns of a head, heads)
constexpr int kThreads = 128;
template <class T>
__global__ void head_columns_kernel(HeadProducts<T> p) {
  const int row = block_x(), head = block_z();
  const int c = block_y() * kThreads + thread_x();
  if (c >= p.out) return;
  const T* x = p.x.row(row) + head * p.x_apart;
  const auto stride = std::ptrdiff_t{p.w_stride};
  const T* w = p.w + head * p.w_apart + (p.transposed ? c * stride : c);
  float sum = 0;
  for (int i = 0; i < p.in; ++i) sum += to_float(x[i]) * to_float(w[p.transposed ? i : i * stride]);
  p.y.row(row)[head * p.out + c] = from_float<T>(sum);
}

template <class S>
void launch_tiles(const HeadProducts<bf16>& p, cudaStream_t s) {
  const dim3 grid = grid_of(ceil_div(p.x.rows, S::rows), ceil_div(p.out, S::columns), p.heads);
  if (p.transposed) launch_overlapping(head_tiles_kernel<S, true>, grid, grid_of(S::threads), S::shared, s, p);
  else launch_overlapping(head_tiles_kernel<S, false>, grid, grid_of(S::threads), S::shared, s, p);
}

// Whether everything can be read 16 bytes at a time.
bool has_tiles(const HeadProducts<bf16>& p) {
  const auto aligned = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(uint4) == 0; };
  return aligned(p.x.data) && aligned(p.w) && p.in % 8 == 0 && p.out % 8 == 0 && p.x.stride % 8 == 0 &&
         p.x_apart % 8 == 0 && p.w_apart % 8 == 0 && p.w_stride % 8 == 0;
}

template <class T>
void launch_heads(const HeadProducts<T>& p, cudaStream_t s) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (has_tiles(p)) return p.x.rows <= 16 ? launch_tiles<HeadTiles<1>>(p, s) : launch_tiles<HeadTiles<4>>(p, s);
  }
  launch(head_columns_kernel<T>, grid_of(p.x.rows, ceil_div(p.out, kThreads), p.heads), grid_of(kThreads), 0, s, p);
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const AbsorbQueries& o) {
  const int rank = o.dims.kv_rank, nope = o.dims.nope_dim, heads = o.y.cols / rank;
  launch_heads(HeadProducts<T>{d.in(o.q), d.data(o.kv_b), d.out(o.y), heads, nope, rank, nope + o.dims.rope_dim,
                               nope + o.dims.value_dim, o.kv_b.out, true},
               d.stream);
}
template <class T>
void run(const OnDevice<T>& d, const ExpandValues& o) {
  const int rank = o.dims.kv_rank, nope = o.dims.nope_dim, value = o.dims.value_dim, heads = o.y.cols / value;
  launch_heads(HeadProducts<T>{d.in(o.x), d.data(o.kv_b) + nope, d.out(o.y), heads, rank, value, rank, nope + value,
                               o.kv_b.out, false},
               d.stream);
}

FOR_FORMATS(void, run, AbsorbQueries);
FOR_FORMATS(void, run, ExpandValues);

}  // namespace draftline::cuda
