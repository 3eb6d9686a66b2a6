// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores: a warp has a tile of 16 rows x heads. Keys and values pass through stages of shared
// memory, one of which is filled while the other is used. The softmax is computed online (Milakov and Gimelshein 2018;
// Dao 2023).
#pragma once
#include "decoder/cuda/attention/join.cuh"
#include "decoder/cuda/gemm/mma.cuh"

namespace draftline::cuda {

// How a CTA divides its work: with few rows the warps share the keys, with many rows they share the rows. `dim`:
// columns of a query and a key, of which those from `own` on may lie apart; `value_dim`: of a value.
template <int dim_, bool many_rows, int value_dim_ = dim_, int own_ = dim_>
struct Tiles {
  static constexpr int dim = dim_, value_dim = value_dim_, own = own_;
  static constexpr bool narrow = dim + value_dim <= 320;
  static constexpr int stage = narrow ? 64 : 32;  // keys
  static constexpr int row_warps = many_rows ? 4 : 1, key_warps = many_rows ? 1 : stage / 16;
  static constexpr int warps = row_warps * key_warps, threads = 32 * warps, rows = 16 * row_warps;
  static constexpr int keys = stage / key_warps;  // of a warp in a stage
  // A stage's rows are padded, so that eight rows lie in different banks.
  static constexpr int row = dim + 8, value_row = value_dim + 8;
  static constexpr bool hold_queries = narrow;  // in registers; wider ones are read again from L1
  // The CTAs of an SM. They are asked for, as nvcc would spill more to fit in one more. Of keys of 192 columns shared
  // memory has room for two.
  static constexpr int blocks = (many_rows && dim > 96) || (narrow && dim > 128) ? 2 : 3;
  static constexpr int result_row = value_dim + 8;  // pairs of a row's neighbours lie in other banks
  static constexpr std::size_t stage_bytes = sizeof(bf16) * stage * (row + value_row);
  static constexpr std::size_t result_bytes =
      sizeof(float) * key_warps * rows * result_row + sizeof(Share) * key_warps * rows;
  static constexpr std::size_t shared = 2 * stage_bytes > result_bytes ? 2 * stage_bytes : result_bytes;
};

// Copies entries `from` .. of the split to a stage, keys first, then values. Behind the end it writes zeros, as a
// masked NaN would still make the product NaN.
template <class S>
__device__ void fill_stage(const AttendArguments<bf16>& a, const AttendWork& w, int from, bf16* keys, bf16* values) {
  constexpr int chunks = S::dim / 8, value_chunks = S::value_dim / 8;
  const std::ptrdiff_t values_behind = std::ptrdiff_t{a.cache.kv_heads} * kBlockTokens * S::dim;
#pragma unroll 4
  for (int c = thread_x(); c < S::stage * chunks; c += S::threads) {
    const int j = c / chunks, column = c % chunks * 8, key = from + j;
    const bool present = key < w.end;
    const bf16* entry = present ? a.cache.entry(a.layer, w.kv_slot, key, 0, w.kv_head) + column : a.cache.data;
    copy_later(keys + j * S::row + column, entry, present);
    if constexpr (S::value_dim == S::dim)
      copy_later(values + j * S::row + column, present ? entry + values_behind : entry, present);
  }
  if constexpr (S::value_dim != S::dim) {
#pragma unroll 4
    for (int c = thread_x(); c < S::stage * value_chunks; c += S::threads) {
      const int j = c / value_chunks, column = c % value_chunks * 8, key = from + j;
      const bool present = key < w.end;
      const bf16* entry = present ? a.cache.entry(a.layer, w.kv_slot, key, 1, w.kv_head) + column : a.cache.data;
      copy_later(values + j * S::value_row + column, entry, present);
    }
  }
  end_batch();
}

// Fills a stage with keys and values that are not in a cache.
template <class S>
__device__ void fill_stage(const ExpandedArguments<bf16>& a, const AttendWork& w, int from, bf16* keys, bf16* values) {
  constexpr int chunks = S::dim / 8, value_chunks = S::value_dim / 8;
  const int at = w.kv_head * (S::own + S::value_dim);
#pragma unroll 4
  for (int c = thread_x(); c < S::stage * chunks; c += S::threads) {
    const int j = c / chunks, column = c % chunks * 8, row = w.first + min(from + j, w.end - 1);
    copy_later(keys + j * S::row + column,
               column < S::own ? a.kv.row(row) + at + column : a.k_rope.row(row) + column - S::own, from + j < w.end);
  }
#pragma unroll 4
  for (int c = thread_x(); c < S::stage * value_chunks; c += S::threads) {
    const int j = c / value_chunks, column = c % value_chunks * 8, row = w.first + min(from + j, w.end - 1);
    copy_later(values + j * S::value_row + column, a.kv.row(row) + at + S::own + column, from + j < w.end);
  }
  end_batch();
}

// Rows g and g + 8 of the warp's tile at columns 16 step ..; rows beyond the last are zeros.
template <class S>
struct QueryRows {
  const bf16 *row[2], *apart[2];
  __device__ void load(int step, unsigned (&a)[4]) const {
    const bool own = 16 * step < S::own;
    const int t = lane_of() % 4, column = 16 * step - (own ? 0 : S::own) + 2 * t;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const bf16* from = own ? row[r % 2] : apart[r % 2];
      a[r] = from == nullptr ? 0U : *reinterpret_cast<const unsigned*>(from + column + 8 * (r / 2));
    }
  }
};

template <class S, class Arguments>
__global__ void __launch_bounds__(S::threads, S::blocks) attend_tiles_kernel(Arguments a) {
  await_previous();
  const AttendWork w = work_of_block(a, S::rows, S::stage);
  if (!w.any) return;
  auto* stages = dynamic_shared<bf16>();
  const int lane = lane_of(), row_warp = warp_of() / S::key_warps, key_warp = warp_of() % S::key_warps;
  const int g = lane / 4, t = lane % 4, stacked = w.rows * a.group;

  QueryRows<S> queries = {};
  int index[2];  // of rows g and g + 8 in their sequence
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int m = w.from + 16 * row_warp + g + 8 * r, head = w.kv_head * a.group + m % a.group;
    index[r] = min(m / a.group, w.rows - 1);
    if (m >= stacked) continue;
    queries.row[r] = a.q.row(w.first + index[r]) + head * S::dim;
    if constexpr (S::own < S::dim) queries.apart[r] = a.q_rope.row(w.first + index[r]) + head * (S::dim - S::own);
  }
  const auto stage_of = [&](int s) { return stages + s % 2 * (S::stage_bytes / sizeof(bf16)); };
  const int count = ceil_div(w.end - w.begin, S::stage);
  fill_stage<S>(a, w, w.begin, stage_of(0), stage_of(0) + S::stage * S::row);

  unsigned held[S::hold_queries ? S::dim / 16 : 1][4];
  if constexpr (S::hold_queries) {
#pragma unroll
    for (int step = 0; step < S::dim / 16; ++step) queries.load(step, held[step]);
  }
  float out[S::value_dim / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  // Every row of the tile may attend to all keys before this one.
  const int hidden_from = w.length + (a.pass.looks_ahead() ? 0 : a.pass.tail + w.from / a.group + 1);
  // ... and, of a window, to those from this one on, where its last row begins.
  const int last_row = min((w.from + S::rows - 1) / a.group, w.rows - 1);
  const int shown_from = a.window.first_key(w.length + a.pass.tail + last_row);

  for (int s = 0; s < count; ++s) {
    if (s + 1 < count) {
      fill_stage<S>(a, w, w.begin + (s + 1) * S::stage, stage_of(s + 1), stage_of(s + 1) + S::stage * S::row);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const bf16* keys = stage_of(s) + key_warp * S::keys * S::row;
    const bf16* values = stage_of(s) + S::stage * S::row + key_warp * S::keys * S::value_row;
    const int first_key = w.begin + s * S::stage + key_warp * S::keys;

    float score[S::keys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < S::dim / 16; ++step) {
      unsigned q[4];
      if constexpr (S::hold_queries) {
#pragma unroll
        for (int r = 0; r < 4; ++r) q[r] = held[step][r];
      } else {
        queries.load(step, q);
      }
#pragma unroll
      for (int j = 0; j < S::keys / 16; ++j) {
        unsigned k[4];
        load_tiles<false>(k, keys + (16 * j + lane / 16 * 8 + lane % 8) * S::row + 16 * step + lane / 8 % 2 * 8);
        multiply_tile(score[2 * j], q, k[0], k[1]);
        multiply_tile(score[2 * j + 1], q, k[2], k[3]);
      }
    }

    const bool all_seen = first_key >= shown_from && first_key + S::keys <= min(hidden_from, w.end);
    float higher[2] = {top[0], top[1]};
#pragma unroll
    for (int i = 0; i < S::keys / 2; ++i) score[i / 4][i % 4] *= a.scale;
    if (!all_seen) hide_unseen<S::keys>(score, a, w, index, first_key);
#pragma unroll
    for (int i = 0; i < S::keys / 2; ++i) higher[i / 2 % 2] = fmaxf(higher[i / 2 % 2], score[i / 4][i % 4]);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      higher[r] = fmaxf(higher[r], __shfl_xor_sync(kWarp, higher[r], 1));
      higher[r] = fmaxf(higher[r], __shfl_xor_sync(kWarp, higher[r], 2));
      const float keep = weight_of(top[r], higher[r]);
      top[r] = higher[r];
      sum[r] *= keep;
#pragma unroll
      for (int c = 0; c < S::value_dim / 8; ++c) out[c][2 * r] *= keep, out[c][2 * r + 1] *= keep;
    }
#pragma unroll
    for (int j = 0; j < S::keys / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        score[j][e] = weight_of(score[j][e], top[e / 2]);
        sum[e / 2] += score[j][e];
      }

#pragma unroll
    for (int j = 0; j < S::keys / 16; ++j) {
      const auto& left = score[2 * j];
      const auto& right = score[2 * j + 1];
      const unsigned p[4] = {pack_pair(left[0], left[1]), pack_pair(left[2], left[3]), pack_pair(right[0], right[1]),
                             pack_pair(right[2], right[3])};
#pragma unroll
      for (int c = 0; c < S::value_dim / 16; ++c) {
        unsigned v[4];
        load_tiles<true>(v, values + (16 * j + lane % 16) * S::value_row + 16 * c + lane / 16 * 8);
        multiply_tile(out[2 * c], p, v[0], v[1]);
        multiply_tile(out[2 * c + 1], p, v[2], v[3]);
      }
    }
    __syncthreads();  // before the stage is overwritten
  }

  auto* results = dynamic_shared<float>();
  auto* shares = reinterpret_cast<Share*>(results + S::key_warps * S::rows * S::result_row);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(kWarp, sum[r], 1);
    sum[r] += __shfl_xor_sync(kWarp, sum[r], 2);
    const int row = key_warp * S::rows + 16 * row_warp + g + 8 * r;
    if (t == 0) shares[row] = {top[r], sum[r]};
#pragma unroll
    for (int c = 0; c < S::value_dim / 8; ++c) {
      const Columns<float, 2> pair = {out[c][2 * r], out[c][2 * r + 1]};
      *reinterpret_cast<Columns<float, 2>*>(results + row * S::result_row + 8 * c + 2 * t) = pair;
    }
  }
  __syncthreads();
  finish_tile<S::key_warps, S::value_dim>(a, w, results, shares, S::rows, S::result_row);
}

}  // namespace draftline::cuda
