// SPDX-License-Identifier: Apache-2.0
// Attention without tensor cores: each warp has a row and a head; its lanes take keys for the scores, then columns for
// the sums.
#pragma once
#include <string>

#include "core/errors.h"
#include "decoder/cuda/attention/join.cuh"

namespace draftline::cuda {

constexpr int kRowWarps = 4, kMostColumns = 512;  // of a value

inline void check_columns(int columns) {
  if (columns > kMostColumns)
    throw InputErrors("on CUDA attention takes heads, or latents, of at most " + std::to_string(kMostColumns) +
                      " columns; these have " + std::to_string(columns));
}

inline std::size_t rows_shared(int dim) {
  return at(kRowWarps * (dim + 32)) * sizeof(float) + kRowWarps * sizeof(Share);
}

template <class T>
__device__ float dot(const float* q, const T* k, int dim) {
  float sum = 0;
  for (int c = 0; c < dim; ++c) sum += q[c] * to_float(k[c]);
  return sum;
}

// `score(j)`: of entry j, an exponent of two, -infinity where the row may not attend to it. `value(j)`: its `columns`
// columns, of which out[i] of a lane sums those at 32 i + lane.
template <class Score, class Value>
__device__ Share attend_row(int columns, int begin, int end, Score score_of, Value value, float* weights,
                            float (&out)[kMostColumns / 32]) {
  const int lane = lane_of();
  float top = -INFINITY, sum = 0;
  for (int base = begin; base < end; base += 32) {
    const float score = base + lane < end ? score_of(base + lane) : -INFINITY;
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
      if (column >= columns) continue;
      float s = out[i] * keep;
      for (int o = 0; o < n; ++o)
        if (weights[o] != 0) s += weights[o] * to_float(value(base + o)[column]);
      out[i] = s;
    }
    __syncwarp();
  }
  return {top, warp_reduce(sum, Plus{})};
}

constexpr int kRowStage = 32;  // keys: one for each lane

// Where the cache is latent, a query's last columns come from q_rope, and a value is the beginning of its key.
template <class T>
__global__ void attend_rows(AttendArguments<T> a) {
  const AttendWork w = work_of_block(a, kRowWarps, kRowStage);
  if (!w.any) return;
  const int dim = a.cache.head_dim, values = a.value_dim, wide = max(dim, values), warp = warp_of(), lane = lane_of();
  const int own = a.cache.value_dim > 0 ? dim : values;  // columns of a query that lie in q
  float* queries = dynamic_shared<float>();              // [warp][wide]; holds the results later
  float* weights = queries + kRowWarps * wide;
  auto* shares = reinterpret_cast<Share*>(weights + kRowWarps * 32);
  const int m = w.from + warp;
  if (m < w.rows * a.group) {
    const int index = m / a.group, row = w.first + index, head = w.kv_head * a.group + m % a.group;
    float* mine = queries + warp * wide;
    for (int c = lane; c < dim; c += 32)
      mine[c] =
          a.scale * to_float(c < own ? a.q.row(row)[head * own + c] : a.q_rope.row(row)[head * (dim - own) + c - own]);
    __syncwarp();
    float out[kMostColumns / 32] = {};
    const auto entry = [&](int key, int kv) -> const T* {
      return a.cache.entry(a.layer, w.kv_slot, key, kv, w.kv_head);
    };
    const auto score = [&](int key) {
      return attends_to(a.pass, a.window, row, index, w.length, key) ? dot(mine, entry(key, 0), dim) : -INFINITY;
    };
    const Share share = attend_row(
        values, w.begin, w.end, score, [&](int key) { return entry(key, a.cache.sides() - 1); }, weights + warp * 32,
        out);
#pragma unroll
    for (int i = 0; i < kMostColumns / 32; ++i)
      if (32 * i + lane < values) mine[32 * i + lane] = out[i];
    if (lane == 0) shares[warp] = share;
  }
  __syncthreads();
  finish_tile<1>(a, w, queries, shares, kRowWarps, wide);
}

}  // namespace draftline::cuda
