// SPDX-License-Identifier: Apache-2.0
// The operands and results of the two grouped GEMMs of a mixture of experts, and a kernel without tensor cores, with a
// thread for each column. The kernels with tensor cores are in expert_tiles.cuh.
#pragma once
#include "decoder/cuda/experts/expert_lists.cuh"
#include "decoder/op/experts.h"

namespace draftline::cuda {

__device__ inline float gated(float gate, float up, MlpKind kind) {
  if (kind == MlpKind::gated_gelu)
    return 0.5F * gate * (1 + tanhf(0.7978845608F * (gate + 0.044715F * gate * gate * gate))) * up;
  if (kind != MlpKind::clamped_swiglu) return gate / (1 + expf(-gate)) * up;
  const float g = fminf(gate, kClampedSwiglu.limit), u = fminf(fmaxf(up, -kClampedSwiglu.limit), kClampedSwiglu.limit);
  return g / (1 + expf(-kClampedSwiglu.slope * g)) * (u + 1);
}

// The gate of each choice, as silu(x gate) * (x up), in the order of the lists. A row of w holds the columns of gate,
// then those of up. Where a choice weighs its input, the product is weighed, which is the same.
template <class T>
struct GateUp {
  static constexpr int matrices = 2;
  View<const T> x;
  const T *w, *bias;
  int in, out, per_token;
  bool weighs_inputs;
  MlpKind gate;
  ExpertLists lists;
  T* wide;  // [choices in the lists' order][out]
  __device__ const T* input(int at) const { return x.row(lists.list[at] / per_token); }
  __device__ void put(const ExpertGroup& g, int row, int c, float gate, float up) const {
    const int at = g.begin + row;
    if (weighs_inputs) {
      const float share = lists.share[lists.list[at]];
      gate *= share, up *= share;
    }
    if (bias != nullptr) {
      const T* own = bias + std::ptrdiff_t{g.expert} * 2 * out + c;
      gate += to_float(own[0]), up += to_float(own[out]);
    }
    wide[std::ptrdiff_t{at} * out + c] = from_float<T>(gated(gate, up, this->gate));
  }
  __device__ void done(const ExpertGroup&, int, int) const {}
};

// The product with the second matrix. The CTA that computes the last of a row's experts adds them all, in the order in
// which the row chose them.
template <class T>
struct Down {
  static constexpr int matrices = 1;
  const T *wide, *w, *bias;
  int in, out, per_token;
  bool weighs_inputs;
  ExpertLists lists;
  float* results;  // [choices][out]
  View<T> y;
  __device__ const T* input(int at) const { return wide + std::ptrdiff_t{at} * in; }
  __device__ void put(const ExpertGroup& g, int row, int c, float v) const {
    if (bias != nullptr) v += to_float(bias[std::ptrdiff_t{g.expert} * out + c]);
    results[std::ptrdiff_t{lists.list[g.begin + row]} * out + c] = v;
  }
  __device__ void done(const ExpertGroup& g, int from, int columns) const {
    constexpr int kMostRows = 64;
    __shared__ bool last[kMostRows];
    const int me = thread_x(), row_columns = min(columns, out - from);
    __threadfence();
    __syncthreads();
    if (me < g.rows) {
      const int row = lists.list[g.begin + me] / per_token;
      last[me] = atomicAdd(lists.missing + row * lists.column_tiles + block_y(), -1) == 1;
    }
    __syncthreads();
    __threadfence();
    for (int i = me; i < g.rows * columns; i += threads_x()) {
      const int c = i % columns;
      if (!last[i / columns] || c >= row_columns) continue;
      const int row = lists.list[g.begin + i / columns] / per_token;
      float total = 0;
      for (int j = 0; j < per_token; ++j) {
        const int choice = row * per_token + j;
        const float share = weighs_inputs ? 1.0F : lists.share[choice];
        total += share * results[std::ptrdiff_t{choice} * out + from + c];
      }
      y.row(row)[from + c] = from_float<T>(total);
    }
  }
};

// Reads the group of this CTA and returns whether there is one. Both loads are issued at once.
__device__ inline bool group_of_block(const ExpertLists& l, ExpertGroup* g) {
  const int which = block_x();
  *g = l.groups[which];
  return which < *l.group_count;
}
template <class P>
__device__ auto weights_of(const P& p, const ExpertGroup& g) {
  return p.w + std::ptrdiff_t{g.expert} * p.in * P::matrices * p.out;
}

constexpr int kPlainThreads = 128, kPlainRows = 16, kPlainDeep = 64;  // columns: a thread's

// grid (groups, columns of the result)
template <class T, class P>
__global__ void __launch_bounds__(kPlainThreads) expert_rows_kernel(P p) {
  await_previous();
  ExpertGroup g;
  if (!group_of_block(p.lists, &g)) return;
  __shared__ float inputs[kPlainDeep][kPlainRows];
  const int me = thread_x(), from = block_y() * kPlainThreads;
  const int column = from + me, stride = P::matrices * p.out;
  const T* w = weights_of(p, g) + min(column, p.out - 1);
  float sum[P::matrices][kPlainRows] = {};
  for (int k = 0; k < p.in; k += kPlainDeep) {
    __syncthreads();
    for (int i = me; i < kPlainRows * kPlainDeep; i += kPlainThreads) {
      const int r = i / kPlainDeep, c = i % kPlainDeep;
      inputs[c][r] = r < g.rows && k + c < p.in ? to_float(p.input(g.begin + r)[k + c]) : 0.0F;
    }
    __syncthreads();
    const int deep = min(kPlainDeep, p.in - k);
#pragma unroll 4
    for (int c = 0; c < deep; ++c)
#pragma unroll
      for (int i = 0; i < P::matrices; ++i) {
        const float v = to_float(w[std::ptrdiff_t{k + c} * stride + i * p.out]);
#pragma unroll
        for (int r = 0; r < kPlainRows; ++r) sum[i][r] += inputs[c][r] * v;
      }
  }
#pragma unroll
  for (int r = 0; r < kPlainRows; ++r) {
    if (r >= g.rows || column >= p.out) break;
    if constexpr (P::matrices == 2) p.put(g, r, column, sum[0][r], sum[1][r]);
    else p.put(g, r, column, sum[0][r]);
  }
  p.done(g, from, kPlainThreads);
}

}  // namespace draftline::cuda
