// SPDX-License-Identifier: Apache-2.0
// Gated delta networks (decoder/op/recurrence.h): the causal convolution and the gated delta rule over a cache of
// states. Each is one launch. A warp keeps 32 columns of a head's state in shared memory and walks over the rows of its
// sequence: a state's columns do not meet. Prompts take the same way, row by row.
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kColumns = 32;
constexpr float kSmallNorm = 1e-6F;

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// A thread for each column of the index-th row of a sequence.
template <class T, class S>
__global__ void convolve_kernel(View<const T> x, View<const T> w, PassView pass, bool prompts, StateView<T, S> cache,
                                int layer, View<T> y) {
  const int b = block_y(), i = block_x();
  const int c = block_z() * kThreads + thread_x();
  const int first = pass.cu_seqlens.row(b)[0], n = pass.cu_seqlens.row(b + 1)[0] - first;
  if (i >= n || c >= x.cols) return;
  const int kv_slot = pass.slots.kv_slots.row(b)[0], position = pass.slots.lengths.row(b)[0] + pass.tail;
  const int before = cache.kernel - 1;
  float sum = 0;
  for (int t = 0; t <= before; ++t) {
    const int row = i - before + t;
    if (row < 0 && (prompts || position + row < 0)) continue;
    const T* from = row < 0 ? cache.row(layer, kv_slot, position + row) : x.row(first + row);
    sum += to_float(w.row(t)[c]) * to_float(from[c]);
  }
  y.row(first + i)[c] = from_float<T>(sum * sigmoid(sum));
  if (!prompts || i >= n - before) cache.row(layer, kv_slot, position + i)[c] = x.row(first + i)[c];
  if (prompts && i == 0)
    for (int row = n - before; row < 0; ++row) cache.row(layer, kv_slot, row)[c] = from_float<T>(0);
}

// x / |x| * times into shared memory, by one warp.
template <class T>
__device__ void normalise(const T* x, int n, float times, float* to) {
  float sum = 0;
  for (int i = lane_of(); i < n; i += 32) sum += to_float(x[i]) * to_float(x[i]);
  const float scale = times / sqrtf(warp_reduce(sum, Plus{}) + kSmallNorm);
  for (int i = lane_of(); i < n; i += 32) to[i] = to_float(x[i]) * scale;
}

template <class T, class S>
__global__ void delta_rule_kernel(View<const T> qkv, View<const T> gates, const T* a_log, const T* dt_bias,
                                  PassView pass, bool prompts, StateView<T, S> cache, int layer, View<T> y) {
  const int head = block_x(), b = block_y();
  const int column = block_z() * kColumns + lane_of();
  const int keys = cache.key_dim, values = cache.value_dim, heads = cache.value_heads;
  const int first = pass.cu_seqlens.row(b)[0], n = pass.cu_seqlens.row(b + 1)[0] - first;
  const int kv_slot = pass.slots.kv_slots.row(b)[0], position = pass.slots.lengths.row(b)[0] + pass.tail;
  const int key_head = head / (heads / cache.key_heads), all_keys = cache.key_heads * keys;
  const bool mine = column < values;
  float* q = dynamic_shared<float>();
  float *k = q + keys, *state = k + keys + lane_of();  // state: a column of 32
  const bool empty = prompts || position == 0;
  const S* old = empty ? nullptr : cache.state(layer, kv_slot, position - 1, head);
#pragma unroll 16  // a few warps fit on an SM, and each has so many loads of 128 bytes under way
  for (int i = 0; i < keys; ++i) state[i * kColumns] = empty || !mine ? 0 : to_float(old[i * values + column]);
  const float a = expf(to_float(a_log[head])), dt = to_float(dt_bias[head]);
  const float scale = 1 / sqrtf(to_float(keys));
  for (int r = 0; r < n; ++r) {
    const T *in = qkv.row(first + r), *gate = gates.row(first + r);
    const float step = to_float(gate[heads + head]) + dt;
    const float decay = expf(-a * (step > 20 ? step : log1pf(expf(step)))), beta = sigmoid(to_float(gate[head]));
    __syncthreads();  // the row before has been read
    normalise(in + key_head * keys, keys, scale, q);
    normalise(in + all_keys + key_head * keys, keys, 1, k);
    __syncthreads();
    if (!mine) continue;
    float held = 0;
    for (int i = 0; i < keys; ++i) {
      state[i * kColumns] *= decay;
      held += state[i * kColumns] * k[i];
    }
    const float change = (to_float(in[2 * all_keys + head * values + column]) - held) * beta;
    float result = 0;
    for (int i = 0; i < keys; ++i) {
      state[i * kColumns] += k[i] * change;
      result += state[i * kColumns] * q[i];
    }
    y.row(first + r)[head * values + column] = from_float<T>(result);
    if (prompts && r < n - 1) continue;
    S* to = cache.state(layer, kv_slot, position + r, head);
    for (int i = 0; i < keys; ++i) to[i * values + column] = from_float<S>(state[i * kColumns]);
  }
}

// A warp for each group of columns of a row.
template <class T>
__global__ void gated_rms_norm_kernel(View<const T> x, View<const T> gate, const T* w, int width, float epsilon,
                                      View<T> y) {
  const int r = block_x(), first = block_y() * width;
  const T *in = x.row(r) + first, *gates = gate.row(r) + first;
  float squares = 0;
  for (int c = lane_of(); c < width; c += 32) squares += to_float(in[c]) * to_float(in[c]);
  const float scale = 1 / sqrtf(warp_reduce(squares, Plus{}) / to_float(width) + epsilon);
  for (int c = lane_of(); c < width; c += 32) {
    const float g = to_float(gates[c]);
    y.row(r)[first + c] = from_float<T>(to_float(in[c]) * scale * to_float(w[c]) * g * sigmoid(g));
  }
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const Convolve& o) {
  const PassView pass = d.view(o.pass);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    launch(convolve_kernel<T, S>, grid_of(pass.widest, pass.sequences, ceil_div(o.x.cols, kThreads)), grid_of(kThreads),
           0, d.stream, d.in(o.x), d.weight(o.w), pass, d.pass(o.pass).rows.prompts, states, o.layer, d.out(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const GatedDeltaRule& o) {
  const PassView pass = d.view(o.pass);
  const DeltaNet& net = o.cache.net;
  const std::size_t floats = at(net.key_dim) * (kColumns + 2);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    launch(delta_rule_kernel<T, S>, grid_of(net.value_heads, pass.sequences, ceil_div(net.value_dim, kColumns)),
           grid_of(32), floats * sizeof(float), d.stream, d.in(o.qkv), d.in(o.gates), d.data(o.a_log),
           d.data(o.dt_bias), pass, d.pass(o.pass).rows.prompts, states, o.layer, d.out(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const GatedRmsNorm& o) {
  launch(gated_rms_norm_kernel<T>, grid_of(o.x.rows, o.x.cols / o.width), grid_of(32), 0, d.stream, d.in(o.x),
         d.in(o.gate), d.data(o.w), o.width, o.epsilon, d.out(o.y));
}

FOR_FORMATS(void, run, Convolve);
FOR_FORMATS(void, run, GatedDeltaRule);
FOR_FORMATS(void, run, GatedRmsNorm);

}  // namespace draftline::cuda
