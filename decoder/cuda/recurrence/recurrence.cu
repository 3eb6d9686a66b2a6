// SPDX-License-Identifier: Apache-2.0
// Recurrent layers (decoder/op/recurrence.h): the causal convolution, the gated delta rule and the scan of a state
// space over a cache of states. Each is one launch. A warp keeps 32 columns of a head's state in shared memory and
// walks over the rows of its sequence: a state's columns do not meet. Prompts take the same way, row by row. A tree's
// row loads its parent's state.
#include <algorithm>

#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kColumns = 32;

template <class T>
struct HeadWeights {  // of a state space: a number for each head
  const T *a_log, *skip, *dt_bias;
};
constexpr float kSmallNorm = 1e-6F;

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// The tail entry that `entry` follows in the text of row `row`; below 0: of the committed text, counted from its end.
__device__ inline int entry_before(const PassView& p, int row, int entry) {
  if (p.tree_mask.data == nullptr || entry <= 0) return entry - 1;
  for (int j = entry - 1; j >= 0; --j)
    if (has_bit(p.tree_mask.row(row), j)) return j;
  return -1;
}

// A thread for each column of the index-th row of a sequence.
template <class T, class S>
__global__ void convolve_kernel(View<const T> x, View<const T> w, const T* bias, PassView pass, bool prompts,
                                StateView<T, S> cache, int layer, View<T> y) {
  const int b = block_y(), i = block_x();
  const int c = block_z() * kThreads + thread_x();
  const int first = pass.cu_seqlens.row(b)[0], n = pass.cu_seqlens.row(b + 1)[0] - first;
  if (i >= n || c >= x.cols) return;
  const int kv_slot = pass.slots.kv_slots.row(b)[0], length = pass.slots.lengths.row(b)[0];
  const int before = cache.kernel - 1, position = length + pass.tail;
  float sum = bias != nullptr ? to_float(bias[c]) : 0;
  for (int t = before, entry = pass.tail + i; t >= 0; --t, entry = entry_before(pass, first + i, entry)) {
    if (entry < pass.tail && (prompts || length + entry < 0)) continue;
    const T* from = entry < pass.tail ? cache.row(layer, kv_slot, length + entry) : x.row(first + entry - pass.tail);
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

__device__ inline float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

// kColumnGates: each column of a head's keys has its own decay.
template <bool kColumnGates, class T, class S>
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
  float *k = q + keys, *decays = k + keys, *state = decays + keys + lane_of();  // state: a column of 32
  const auto load = [&](int parent) {  // a tail entry; below 0: of the committed text
    const int place = position - pass.tail + parent;
    const bool empty = prompts || place < 0 || !mine;
    const S* old = empty ? nullptr : cache.state(layer, kv_slot, place, head);
#pragma unroll 16  // a few warps fit on an SM, and each has so many loads of 128 bytes under way
    for (int i = 0; i < keys; ++i) state[i * kColumns] = empty ? 0 : to_float(old[i * values + column]);
  };
  const bool tree = pass.tree_mask.data != nullptr;
  const float a = expf(to_float(a_log[head]));
  const float scale = 1 / sqrtf(to_float(keys));
  for (int r = 0; r < n; ++r) {
    if (r == 0 || tree) load(entry_before(pass, first + r, pass.tail + r));
    const T *in = qkv.row(first + r), *gate = gates.row(first + r);
    const auto decay_of = [&](int i) { return expf(-a * softplus(to_float(gate[heads + i]) + to_float(dt_bias[i]))); };
    const float decay = kColumnGates ? 1 : decay_of(head), beta = sigmoid(to_float(gate[head]));
    __syncthreads();  // the row before has been read
    normalise(in + key_head * keys, keys, scale, q);
    normalise(in + all_keys + key_head * keys, keys, 1, k);
    if (kColumnGates)
      for (int i = lane_of(); i < keys; i += 32) decays[i] = decay_of(head * keys + i);
    __syncthreads();
    if (!mine) continue;
    float held = 0;
    for (int i = 0; i < keys; ++i) {
      state[i * kColumns] *= kColumnGates ? decays[i] : decay;
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

// A state space's heads, as of the delta rule.
template <class T, class S>
__global__ void selective_scan_kernel(View<const T> xbc, View<const T> steps, HeadWeights<T> w, PassView pass,
                                      bool prompts, StateView<T, S> cache, int layer, View<T> y) {
  const int head = block_x(), b = block_y();
  const int column = block_z() * kColumns + lane_of();
  const int dim = cache.key_dim, values = cache.value_dim, heads = cache.value_heads;
  const int first = pass.cu_seqlens.row(b)[0], n = pass.cu_seqlens.row(b + 1)[0] - first;
  const int kv_slot = pass.slots.kv_slots.row(b)[0], position = pass.slots.lengths.row(b)[0] + pass.tail;
  const int group = head / (heads / cache.key_heads);
  const bool mine = column < values;
  float* in_b = dynamic_shared<float>();
  float *in_c = in_b + dim, *state = in_c + dim + lane_of();  // state: a column of 32
  const auto load = [&](int parent) {
    const int place = position - pass.tail + parent;
    const bool empty = prompts || place < 0 || !mine;
    const S* old = empty ? nullptr : cache.state(layer, kv_slot, place, head);
#pragma unroll 16
    for (int i = 0; i < dim; ++i) state[i * kColumns] = empty ? 0 : to_float(old[i * values + column]);
  };
  const bool tree = pass.tree_mask.data != nullptr;
  const float a = expf(to_float(w.a_log[head])), dt = to_float(w.dt_bias[head]), skip = to_float(w.skip[head]);
  for (int r = 0; r < n; ++r) {
    if (r == 0 || tree) load(entry_before(pass, first + r, pass.tail + r));
    const T *x = xbc.row(first + r), *row_b = x + heads * values + group * dim, *row_c = row_b + cache.key_heads * dim;
    const float step = softplus(to_float(steps.row(first + r)[head]) + dt), decay = expf(-a * step);
    __syncthreads();  // the row before has been read
    for (int i = lane_of(); i < dim; i += 32) in_b[i] = to_float(row_b[i]), in_c[i] = to_float(row_c[i]);
    __syncthreads();
    if (!mine) continue;
    const float input = to_float(x[head * values + column]);
    float result = skip * input;
    for (int i = 0; i < dim; ++i) {
      state[i * kColumns] = decay * state[i * kColumns] + in_b[i] * (step * input);
      result += in_c[i] * state[i * kColumns];
    }
    y.row(first + r)[head * values + column] = from_float<T>(result);
    if (prompts && r < n - 1) continue;
    S* to = cache.state(layer, kv_slot, position + r, head);
    for (int i = 0; i < dim; ++i) to[i * values + column] = from_float<S>(state[i * kColumns]);
  }
}

// What the next pass reads of a tree's accepted rows: a thread for each number of a state, or column of the rows.
template <class T, class S>
__global__ void commit_states_kernel(View<const int> path, View<const int> counts, View<const int> cu_seqlens,
                                     BatchSlotsView slots, StateView<T, S> cache, int per) {
  const int layer = block_x(), b = block_y();
  const int i = block_z() * kThreads + thread_x();
  const int last = counts.row(b)[0] - 1, length = slots.lengths.row(b)[0], kv_slot = slots.kv_slots.row(b)[0];
  const auto entry = [&](int j) { return j < 0 ? j : path.row(b * per + j)[0] - cu_seqlens.row(b)[0]; };
  if (last < 0) return;
  if (i < cache.value_heads * cache.key_dim * cache.value_dim)
    cache.state(layer, kv_slot, length + last, 0)[i] = cache.state(layer, kv_slot, length + entry(last), 0)[i];
  if (i >= cache.columns) return;
  for (int j = last - cache.kernel + 2; j <= last; ++j)
    if (length + j >= 0) cache.row(layer, kv_slot, length + j)[i] = cache.row(layer, kv_slot, length + entry(j))[i];
}

// Weights of a norm: for each column of a group, or of all groups; null: no norm.
template <class T>
struct NormWeights {
  const T* w;
  bool of_all;
};

// A warp for each group of columns of a row.
template <class T>
__global__ void gated_rms_norm_kernel(View<const T> x, View<const T> gate, NormWeights<T> weights, NormGate form,
                                      int width, float epsilon, View<T> y) {
  const int r = block_x(), first = block_y() * width;
  const T *in = x.row(r) + first, *gates = gate.row(r) + first;
  const T* w = weights.w != nullptr && weights.of_all ? weights.w + first : weights.w;
  const auto gated = [&](int c) {
    const float g = to_float(gates[c]);
    return form == NormGate::sigmoid ? sigmoid(g) : g * sigmoid(g);
  };
  const auto value = [&](int c) { return to_float(in[c]) * (form == NormGate::silu_first ? gated(c) : 1); };
  float squares = 0;
  for (int c = lane_of(); c < width; c += 32) squares += value(c) * value(c);
  const float scale = w == nullptr ? 1 : 1 / sqrtf(warp_reduce(squares, Plus{}) / to_float(width) + epsilon);
  for (int c = lane_of(); c < width; c += 32) {
    const float normed = value(c) * scale * (w == nullptr ? 1 : to_float(w[c]));
    y.row(r)[first + c] = from_float<T>(form == NormGate::silu_first ? normed : normed * gated(c));
  }
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const Convolve& o) {
  const PassView pass = d.view(o.pass);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    launch(convolve_kernel<T, S>, grid_of(pass.widest, pass.sequences, ceil_div(o.x.cols, kThreads)), grid_of(kThreads),
           0, d.stream, d.in(o.x), d.weight(o.w), d.data(o.bias), pass, d.pass(o.pass).rows.prompts, states, o.layer,
           d.out(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const GatedDeltaRule& o) {
  const PassView pass = d.view(o.pass);
  const StateForm& form = o.cache.form;
  const std::size_t floats = at(form.key_dim) * (kColumns + 3);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    const auto kernel = o.column_gates() ? delta_rule_kernel<true, T, S> : delta_rule_kernel<false, T, S>;
    launch(kernel, grid_of(form.value_heads, pass.sequences, ceil_div(form.value_dim, kColumns)), grid_of(32),
           floats * sizeof(float), d.stream, d.in(o.qkv), d.in(o.gates), d.data(o.a_log), d.data(o.dt_bias), pass,
           d.pass(o.pass).rows.prompts, states, o.layer, d.out(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const ScanSelectively& o) {
  const PassView pass = d.view(o.pass);
  const StateForm& form = o.cache.form;
  const std::size_t floats = at(form.key_dim) * (kColumns + 2);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    launch(selective_scan_kernel<T, S>, grid_of(form.value_heads, pass.sequences, ceil_div(form.value_dim, kColumns)),
           grid_of(32), floats * sizeof(float), d.stream, d.in(o.xbc), d.in(o.steps),
           HeadWeights<T>{d.data(o.a_log), d.data(o.skip), d.data(o.dt_bias)}, pass, d.pass(o.pass).rows.prompts,
           states, o.layer, d.out(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const CommitStates& o) {
  const int items = std::max(static_cast<int>(o.cache.form.elements()), o.cache.form.convolved_columns);
  d.with_states(o.cache, [&]<class S>(const StateView<T, S>& states) {
    launch(commit_states_kernel<T, S>, grid_of(o.cache.layers, o.counts.rows, ceil_div(items, kThreads)),
           grid_of(kThreads), 0, d.stream, d.ids(o.path), d.ids(o.counts), d.ids(o.cu_seqlens),
           d.view(BatchSlots{o.kv_slots, o.lengths, {}}), states, o.path.rows / o.counts.rows);
  });
}
template <class T>
void run(const OnDevice<T>& d, const GatedRmsNorm& o) {
  launch(gated_rms_norm_kernel<T>, grid_of(o.x.rows, o.x.cols / o.width), grid_of(32), 0, d.stream, d.in(o.x),
         d.in(o.gate), NormWeights<T>{d.data(o.w), o.w && o.w->out == o.x.cols}, o.form, o.width, o.epsilon,
         d.out(o.y));
}

FOR_FORMATS(void, run, Convolve);
FOR_FORMATS(void, run, GatedDeltaRule);
FOR_FORMATS(void, run, ScanSelectively);
FOR_FORMATS(void, run, CommitStates);
FOR_FORMATS(void, run, GatedRmsNorm);

}  // namespace draftline::cuda
