// SPDX-License-Identifier: Apache-2.0
// Latent attention on tensor cores, absorbed: all heads read the same latents, so a tile's rows are heads of a few rows
// of the text, and a stage of latents serves as keys and, in its first columns, as values. The warps of a row tile
// share out a stage's keys for the scores and the latent's columns for the sums; the weights pass between them in
// shared memory. Queries stay there too.
#pragma once
#include "decoder/cuda/attention/join.cuh"
#include "decoder/cuda/gemm/mma.cuh"

namespace draftline::cuda {

template <int rank_, int rope_, bool many_rows>
struct LatentTiles {
  static constexpr int rank = rank_, rope = rope_, dim = rank + rope;
  static constexpr int stage = 32;  // keys
  static constexpr int row_warps = many_rows ? 4 : 1, column_warps = many_rows ? 2 : 4;
  static constexpr int warps = row_warps * column_warps, threads = 32 * warps, rows = 16 * row_warps;
  static constexpr int keys = stage / column_warps, columns = rank / column_warps;  // of a warp
  // Padded, so that eight rows lie in different banks.
  static constexpr int row = dim + 8, weight_row = stage + 8, result_row = rank + 4;
  static_assert(dim % 32 == 0 && columns % 16 == 0);
  // Shared memory: queries, two stages, the softmax's weights, the largest score of each warp's keys. Results take the
  // place of the first two.
  static constexpr std::size_t query_bytes = sizeof(bf16) * rows * row, stage_bytes = sizeof(bf16) * stage * row;
  static constexpr std::size_t result_bytes = sizeof(float) * rows * result_row;
  static constexpr std::size_t weights_at =
      query_bytes + 2 * stage_bytes > result_bytes ? query_bytes + 2 * stage_bytes : result_bytes;
  static constexpr std::size_t tops_at = weights_at + sizeof(bf16) * rows * weight_row;
  static constexpr std::size_t shared = tops_at + sizeof(float) * column_warps * rows;
};

// Rows beyond the last are zeros.
template <class S>
__device__ void fill_queries(const AttendArguments<bf16>& a, const AttendWork& w, bf16* queries) {
  constexpr int chunks = S::dim / 8;
  for (int c = thread_x(); c < S::rows * chunks; c += S::threads) {
    const int r = c / chunks, column = c % chunks * 8, m = w.from + r;
    const bool present = m < w.rows * a.group;
    const int row = w.first + min(m / a.group, w.rows - 1), head = m % a.group;
    copy_later(queries + r * S::row + column,
               column < S::rank ? a.q.row(row) + head * S::rank + column
                                : a.q_rope.row(row) + head * S::rope + column - S::rank,
               present);
  }
}

// Entries `from` .. of the split; behind the end zeros, as a masked NaN would still make the product NaN.
template <class S>
__device__ void fill_latents(const AttendArguments<bf16>& a, const AttendWork& w, int from, bf16* latents) {
  constexpr int chunks = S::dim / 8;
#pragma unroll 4
  for (int c = thread_x(); c < S::stage * chunks; c += S::threads) {
    const int j = c / chunks, column = c % chunks * 8, key = from + j;
    const bool present = key < w.end;
    copy_later(latents + j * S::row + column,
               present ? a.cache.entry(a.layer, w.kv_slot, key, 0, 0) + column : a.cache.data, present);
  }
  end_batch();
}

// Scores of a warp's rows (16 from `queries` on) and keys (S::keys from `latents` on).
template <class S>
__device__ void score_latents(const bf16* queries, const bf16* latents, float (&score)[S::keys / 8][4]) {
  const int lane = lane_of();
#pragma unroll 6
  for (int step = 0; step < S::dim / 16; step += 2) {
    unsigned q[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) load_tiles<false>(q[i], queries + lane % 16 * S::row + 16 * (step + i) + lane / 16 * 8);
#pragma unroll
    for (int j = 0; j < S::keys / 8; ++j) {
      unsigned k[4];  // eight keys at 32 columns
      load_tiles<false>(k, latents + (8 * j + lane % 8) * S::row + 16 * step + lane / 8 * 8);
      multiply_tile(score[j], q[0], k[0], k[1]);
      multiply_tile(score[j], q[1], k[2], k[3]);
    }
  }
}

template <class S>
__global__ void __launch_bounds__(S::threads) latent_tiles_kernel(AttendArguments<bf16> a) {
  await_previous();
  const AttendWork w = work_of_block(a, S::rows, S::stage);
  if (!w.any) return;
  auto* shared = dynamic_shared<unsigned char>();
  auto* queries = reinterpret_cast<bf16*>(shared);
  auto* weights = reinterpret_cast<bf16*>(shared + S::weights_at);
  auto* tops = reinterpret_cast<float*>(shared + S::tops_at);  // [column warp][row]
  const auto stage_of = [&](int s) { return queries + S::rows * S::row + s % 2 * S::stage * S::row; };
  const int lane = lane_of(), row_warp = warp_of() / S::column_warps, column_warp = warp_of() % S::column_warps;
  const int g = lane / 4, t = lane % 4, first_row = 16 * row_warp, first_column = column_warp * S::columns;
  int index[2];  // of rows g and g + 8 in their sequence
  for (int r = 0; r < 2; ++r) index[r] = min((w.from + first_row + g + 8 * r) / a.group, w.rows - 1);
  // Every row of the tile may attend to all keys before this one.
  const int hidden_from = w.length + (a.pass.looks_ahead() ? 0 : a.pass.tail + w.from / a.group + 1);

  fill_queries<S>(a, w, queries);
  fill_latents<S>(a, w, w.begin, stage_of(0));
  float out[S::columns / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};  // sum: of this warp's keys
  const int count = ceil_div(w.end - w.begin, S::stage);
  for (int s = 0; s < count; ++s) {
    wait_for_copies<0>();
    __syncthreads();  // this stage is complete, and no warp reads the one before it any more
    if (s + 1 < count) fill_latents<S>(a, w, w.begin + (s + 1) * S::stage, stage_of(s + 1));

    float score[S::keys / 8][4] = {}, higher[2] = {top[0], top[1]};
    score_latents<S>(queries + first_row * S::row, stage_of(s) + column_warp * S::keys * S::row, score);
    const int first_key = w.begin + s * S::stage + column_warp * S::keys;
    const bool all_seen = first_key + S::keys <= min(hidden_from, w.end);
#pragma unroll
    for (int i = 0; i < S::keys / 2; ++i) score[i / 4][i % 4] *= a.scale;
    if (!all_seen) hide_unseen<S::keys>(score, a, w, index, first_key);
#pragma unroll
    for (int i = 0; i < S::keys / 2; ++i) higher[i / 2 % 2] = fmaxf(higher[i / 2 % 2], score[i / 4][i % 4]);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      higher[r] = fmaxf(higher[r], __shfl_xor_sync(kWarp, higher[r], 1));
      higher[r] = fmaxf(higher[r], __shfl_xor_sync(kWarp, higher[r], 2));
      if (t == 0) tops[column_warp * S::rows + first_row + g + 8 * r] = higher[r];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int i = 0; i < S::column_warps; ++i) higher[r] = fmaxf(higher[r], tops[i * S::rows + first_row + g + 8 * r]);
      const float keep = weight_of(top[r], higher[r]);
      top[r] = higher[r];
      sum[r] *= keep;
#pragma unroll
      for (int c = 0; c < S::columns / 8; ++c) out[c][2 * r] *= keep, out[c][2 * r + 1] *= keep;
#pragma unroll
      for (int j = 0; j < S::keys / 8; ++j) {
        const float left = weight_of(score[j][2 * r], top[r]), right = weight_of(score[j][2 * r + 1], top[r]);
        sum[r] += left + right;
        *reinterpret_cast<unsigned*>(weights + (first_row + g + 8 * r) * S::weight_row + column_warp * S::keys + 8 * j +
                                     2 * t) = pack_pair(left, right);
      }
    }
    __syncthreads();
    const bf16* values = stage_of(s) + first_column;
#pragma unroll
    for (int j = 0; j < S::stage / 16; ++j) {
      unsigned p[4];
      load_tiles<false>(p, weights + (first_row + lane % 16) * S::weight_row + 16 * j + lane / 16 * 8);
#pragma unroll
      for (int c = 0; c < S::columns / 16; ++c) {
        unsigned v[4];
        load_tiles<true>(v, values + (16 * j + lane % 16) * S::row + 16 * c + lane / 16 * 8);
        multiply_tile(out[2 * c], p, v[0], v[1]);
        multiply_tile(out[2 * c + 1], p, v[2], v[3]);
      }
    }
  }

  __syncthreads();  // before results take the place of stages, and sums that of the largest scores
  auto* results = reinterpret_cast<float*>(shared);
  auto* shares = reinterpret_cast<Share*>(weights);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + g + 8 * r;
    sum[r] += __shfl_xor_sync(kWarp, sum[r], 1);
    sum[r] += __shfl_xor_sync(kWarp, sum[r], 2);
    if (t == 0) tops[column_warp * S::rows + row] = sum[r];
    if (t == 0 && column_warp == 0) shares[row].top = top[r];
#pragma unroll
    for (int c = 0; c < S::columns / 8; ++c) {
      results[row * S::result_row + first_column + 8 * c + 2 * t] = out[c][2 * r];
      results[row * S::result_row + first_column + 8 * c + 2 * t + 1] = out[c][2 * r + 1];
    }
  }
  __syncthreads();
  for (int row = thread_x(); row < S::rows; row += S::threads) {
    shares[row].sum = 0;
    for (int i = 0; i < S::column_warps; ++i) shares[row].sum += tops[i * S::rows + row];
  }
  __syncthreads();
  finish_tile<1, S::rank>(a, w, results, shares, S::rows, S::result_row);
}

}  // namespace draftline::cuda
