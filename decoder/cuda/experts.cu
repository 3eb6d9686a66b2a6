// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/experts.h"

#include "decoder/cuda/block.cuh"
#include "decoder/cuda/launch.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 128;

struct Chosen {  // of each row, in scratch: [rows, per_token]
  int* expert;
  float* share;
  float* wide;  // [rows, per_token, inner]: silu(gate) * up
};
Chosen split(const Scratch& s, const ExpertShape& m) {
  const int n = m.rows * m.per_token;
  int* expert = behind_counters<int>(s);
  auto* share = reinterpret_cast<float*>(expert + n);
  return {expert, share, share + n};
}

// A block for each row: the router's scores, the softmax over them, the best `per_token`.
template <class T>
__global__ void choose_kernel(ExpertShape m, View<const T> x, const T* router, Chosen chosen) {
  auto* score = dynamic_shared<float>();
  const int r = static_cast<int>(blockIdx.x), me = static_cast<int>(threadIdx.x);
  for (int e = me; e < m.experts; e += kThreads) {
    float s = 0;
    for (int i = 0; i < m.hidden; ++i)
      s += to_float(x.row(r)[i]) * to_float(router[static_cast<std::ptrdiff_t>(i) * m.experts + e]);
    score[e] = s;
  }
  __syncthreads();
  if (me != 0) return;
  float top = score[0];
  for (int e = 1; e < m.experts; ++e) top = fmaxf(top, score[e]);
  float sum = 0, kept = 0;
  for (int e = 0; e < m.experts; ++e) sum += expf(score[e] - top);
  int* expert = chosen.expert + r * m.per_token;
  float* share = chosen.share + r * m.per_token;
  for (int j = 0; j < m.per_token; ++j) {
    int best = -1;
    for (int e = 0; e < m.experts; ++e) {
      bool taken = false;
      for (int i = 0; i < j; ++i) taken = taken || expert[i] == e;
      if (!taken && (best < 0 || score[e] > score[best])) best = e;
    }
    expert[j] = best;
    share[j] = expf(score[best] - top);
    kept += share[j];
  }
  for (int j = 0; j < m.per_token; ++j) share[j] /= m.normalise ? kept : sum;
}

// grid (row and expert of it, columns)
template <class T>
__global__ void gate_up_kernel(ExpertShape m, View<const T> x, const T* gate_up, Chosen chosen) {
  const int slot = static_cast<int>(blockIdx.x), r = slot / m.per_token;
  const int f = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  if (f >= m.inner) return;
  const T* w = gate_up + static_cast<std::ptrdiff_t>(chosen.expert[slot]) * m.hidden * 2 * m.inner;
  float gate = 0, up = 0;
  for (int i = 0; i < m.hidden; ++i) {
    const float v = to_float(x.row(r)[i]);
    gate += v * to_float(w[static_cast<std::ptrdiff_t>(i) * 2 * m.inner + f]);
    up += v * to_float(w[static_cast<std::ptrdiff_t>(i) * 2 * m.inner + m.inner + f]);
  }
  chosen.wide[static_cast<std::ptrdiff_t>(slot) * m.inner + f] = gate / (1 + expf(-gate)) * up;
}

// grid (rows, columns)
template <class T>
__global__ void down_kernel(ExpertShape m, const T* down, Chosen chosen, View<T> y) {
  const int r = static_cast<int>(blockIdx.x);
  const int c = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  if (c >= m.hidden) return;
  float total = 0;
  for (int j = 0; j < m.per_token; ++j) {
    const int slot = r * m.per_token + j;
    const T* w = down + static_cast<std::ptrdiff_t>(chosen.expert[slot]) * m.inner * m.hidden;
    const float* wide = chosen.wide + static_cast<std::ptrdiff_t>(slot) * m.inner;
    float s = 0;
    for (int f = 0; f < m.inner; ++f) s += wide[f] * to_float(w[static_cast<std::ptrdiff_t>(f) * m.hidden + c]);
    total += chosen.share[slot] * s;
  }
  y.row(r)[c] = from_float<T>(total);
}

}  // namespace

std::size_t expert_scratch(const ExpertShape& m) {
  const auto n = static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.per_token);
  return kCounterBytes + n * (sizeof(int) + sizeof(float)) + n * static_cast<std::size_t>(m.inner) * sizeof(float);
}

template <class T>
void mixture_of_experts(const ExpertShape& m, View<const T> x, const T* router, const T* gate_up, const T* down,
                        const Scratch& scratch, View<T> y, cudaStream_t s) {
  const Chosen chosen = split(scratch, m);
  launch(choose_kernel<T>, grid_of(m.rows), dim3(kThreads), sizeof(float) * static_cast<std::size_t>(m.experts), s, m,
         x, router, chosen);
  launch(gate_up_kernel<T>, grid_of(m.rows * m.per_token, ceil_div(m.inner, kThreads)), dim3(kThreads), 0, s, m, x,
         gate_up, chosen);
  launch(down_kernel<T>, grid_of(m.rows, ceil_div(m.hidden, kThreads)), dim3(kThreads), 0, s, m, down, chosen, y);
}
template void mixture_of_experts(const ExpertShape&, View<const float>, const float*, const float*, const float*,
                                 const Scratch&, View<float>, cudaStream_t);
template void mixture_of_experts(const ExpertShape&, View<const bf16>, const bf16*, const bf16*, const bf16*,
                                 const Scratch&, View<bf16>, cudaStream_t);

}  // namespace draftline::cuda
