// SPDX-License-Identifier: Apache-2.0
// Gated delta networks (Yang et al. 2024, equation 10) and selective state spaces (Dao and Gu 2024, equation 1), row by
// row: a chunked kernel computes the same states by other sums.
#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "decoder/cpu/backend.h"

namespace draftline {
namespace {

constexpr float kSmallNorm = 1e-6F;  // added to the sum of squares that queries and keys are divided by the root of

float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// x / |x| * times
void normalise(const float* x, int n, float times, float* y) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  const float scale = times / std::sqrt(sum + kSmallNorm);
  for (int i = 0; i < n; ++i) y[i] = x[i] * scale;
}

// One row of one head: S [keys, values] decays, k reads from it what v should replace, and q reads the result into y.
struct HeadRow {
  const float *q, *k, *v, *decay;  // decay: of each column of k
  float beta;
  float* y;
};
void delta_step(float* state, const HeadRow& row, int keys, int values, float* change) {
  const auto [q, k, v, decay, beta, y] = row;
  std::fill_n(change, values, 0.0F);
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j) {
      state[i * values + j] *= decay[i];
      change[j] += state[i * values + j] * k[i];
    }
  for (int j = 0; j < values; ++j) change[j] = (v[j] - change[j]) * beta;
  std::fill_n(y, values, 0.0F);
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j) {
      state[i * values + j] += k[i] * change[j];
      y[j] += state[i * values + j] * q[i];
    }
}

}  // namespace

void CpuBackend::run(const Convolve& o) {
  const float *x = in(o.x), *w = weight(o.w), *bias = o.bias ? weight(*o.bias) : nullptr;
  const PassView p = view(o.pass);
  float* y = out(o.y);
  CpuStates& held = states_[at(o.cache.id)];
  const int columns = o.x.cols, before = o.cache.form.kernel - 1, tail = p.pass.tail;
  const bool prompts = p.pass.rows.prompts;
  const std::vector<float> nothing(at(columns));
  const double row_bytes = o.cache.row_bytes().value;
  std::vector<const float*> inputs(at(before + 1));  // of a row, the oldest first
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, length = p.lengths[b];
    const auto input = [&](int entry) -> const float* {  // of the tail; below 0: of the committed text
      if (entry >= tail) return x + (first + entry - tail) * o.x.stride;
      return prompts || length + entry < 0 ? nothing.data() : held.row(o.layer, p.kv_slots[b], length + entry).data();
    };
    if (!prompts) counts_.read += before * row_bytes;
    for (int r = 0; r < n; ++r) {
      for (int t = before, entry = tail + r; t >= 0; --t, entry = p.before(first + r, entry))
        inputs[at(t)] = input(entry);
      float* to = y + (first + r) * o.y.stride;
      if (bias == nullptr) std::fill_n(to, columns, 0.0F);
      else std::copy_n(bias, columns, to);
      for (int t = 0; t <= before; ++t) {
        const float *from = inputs[at(t)], *weights = w + t * columns;
        for (int c = 0; c < columns; ++c) to[c] += weights[c] * from[c];
      }
      for (int c = 0; c < columns; ++c) to[c] /= 1 + std::exp(-to[c]);
    }
    for (int r = prompts ? n - before : 0; r < n; ++r) {
      std::copy_n(input(tail + r), columns, held.row(o.layer, p.kv_slots[b], length + tail + r).data());
      counts_.written += row_bytes;
    }
  }
}

void CpuBackend::run(const GatedDeltaRule& o) {
  const float *qkv = in(o.qkv), *gates = in(o.gates), *a_log = weight(o.a_log), *dt_bias = weight(o.dt_bias);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  CpuStates& held = states_[at(o.cache.id)];
  const StateForm& net = o.cache.form;
  const int keys = net.key_dim, values = net.value_dim, group = net.value_heads / net.key_heads;
  const int decays = o.column_gates() ? keys : 1;  // of a head
  const auto size = at(keys) * at(values);
  const bool prompts = p.pass.rows.prompts, tree = p.tree_mask != nullptr;
  const float scale = 1 / std::sqrt(single(keys));
  std::vector<float> state(size), q(at(keys)), k(q), decay(q), change(at(values));
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, tail = p.pass.tail;
    const auto state_of = [&](int entry, int head) {  // after that entry of the tail; below 0: of the committed text
      return held.state(o.layer, p.kv_slots[b], p.lengths[b] + entry).subspan(at(head) * size, size);
    };
    for (int head = 0; head < net.value_heads; ++head) {
      for (int r = 0; r < n; ++r) {
        if (r == 0 || tree) {
          const int parent = p.before(first + r, tail + r);
          if (prompts || p.lengths[b] + parent < 0) std::fill(state.begin(), state.end(), 0.0F);
          else std::ranges::copy(state_of(parent, head), state.begin());
        }
        const float *from = qkv + (first + r) * o.qkv.stride, *gate = gates + (first + r) * o.gates.stride;
        const float beta = 1 / (1 + std::exp(-gate[head]));
        for (int i = 0; i < keys; ++i) {
          const int at_gate = head * decays + i % decays;
          decay[at(i)] =
              std::exp(-std::exp(a_log[head]) * softplus(gate[net.value_heads + at_gate] + dt_bias[at_gate]));
        }
        normalise(from + head / group * keys, keys, scale, q.data());
        normalise(from + net.key_columns() + head / group * keys, keys, 1, k.data());
        const HeadRow row{.q = q.data(),
                          .k = k.data(),
                          .v = from + 2 * net.key_columns() + head * values,
                          .decay = decay.data(),
                          .beta = beta,
                          .y = y + (first + r) * o.y.stride + head * values};
        delta_step(state.data(), row, keys, values, change.data());
        counts_.flops += 6.0 * keys * values;
        if (!prompts || r == n - 1) std::ranges::copy(state, state_of(tail + r, head).begin());
      }
    }
    if (!prompts) counts_.read += (tree ? n : 1) * o.cache.state_bytes().value;
    counts_.written += (prompts ? 1 : n) * o.cache.state_bytes().value;
  }
}

void CpuBackend::run(const ScanSelectively& o) {
  const float *xbc = in(o.xbc), *steps = in(o.steps), *a_log = weight(o.a_log), *skip = weight(o.skip),
              *dt_bias = weight(o.dt_bias);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  CpuStates& held = states_[at(o.cache.id)];
  const StateForm& form = o.cache.form;
  const int dim = form.key_dim, values = form.value_dim, group = form.value_heads / form.key_heads;
  const auto size = at(dim) * at(values);
  const bool prompts = p.pass.rows.prompts, tree = p.tree_mask != nullptr;
  std::vector<float> state(size);
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, tail = p.pass.tail;
    const auto state_of = [&](int entry, int head) {
      return held.state(o.layer, p.kv_slots[b], p.lengths[b] + entry).subspan(at(head) * size, size);
    };
    for (int head = 0; head < form.value_heads; ++head) {
      for (int r = 0; r < n; ++r) {
        if (r == 0 || tree) {
          const int parent = p.before(first + r, tail + r);
          if (prompts || p.lengths[b] + parent < 0) std::fill(state.begin(), state.end(), 0.0F);
          else std::ranges::copy(state_of(parent, head), state.begin());
        }
        const float* row = xbc + (first + r) * o.xbc.stride;
        const float *x = row + head * values, *in_b = row + form.value_columns() + head / group * dim,
                    *in_c = in_b + form.key_columns();
        const float step = softplus(steps[(first + r) * o.steps.stride + head] + dt_bias[head]);
        const float decay = std::exp(-std::exp(a_log[head]) * step);
        float* to = y + (first + r) * o.y.stride + head * values;
        for (int j = 0; j < values; ++j) to[j] = skip[head] * x[j];
        for (int i = 0; i < dim; ++i)
          for (int j = 0; j < values; ++j) {
            float& s = state[at(i * values + j)];
            s = decay * s + in_b[i] * (step * x[j]);
            to[j] += in_c[i] * s;
          }
        counts_.flops += 4.0 * dim * values;
        if (!prompts || r == n - 1) std::ranges::copy(state, state_of(tail + r, head).begin());
      }
    }
    if (!prompts) counts_.read += (tree ? n : 1) * o.cache.state_bytes().value;
    counts_.written += (prompts ? 1 : n) * o.cache.state_bytes().value;
  }
}

void CpuBackend::run(const CommitStates& o) {
  const int *path = ids(o.path), *accepted = ids(o.counts), *cu_seqlens = ids(o.cu_seqlens), *kv_slot = ids(o.kv_slots),
            *length = ids(o.lengths);
  const int sequences = o.counts.rows, per = o.path.rows / sequences, before = o.cache.form.kernel - 1;
  CpuStates& held = states_[at(o.cache.id)];
  for (int layer = 0; layer < o.cache.layers; ++layer)
    for (int b = 0; b < sequences; ++b) {
      const int last = accepted[b * o.counts.stride] - 1;
      const auto entry = [&](int j) { return j < 0 ? j : path[b * per + j] - cu_seqlens[b]; };
      const auto state = held.state(layer, kv_slot[b], length[b] + entry(last));
      if (last >= 0) std::ranges::copy(state, held.state(layer, kv_slot[b], length[b] + last).begin());
      for (int j = last - before + 1; j <= last; ++j) {  // ascending: as path[j] >= j, none is overwritten before
        if (length[b] + j < 0) continue;
        const auto row = held.row(layer, kv_slot[b], length[b] + entry(j));
        std::ranges::copy(row, held.row(layer, kv_slot[b], length[b] + j).begin());
      }
      const double moved = (o.cache.state_bytes() + before * o.cache.row_bytes()).value;
      counts_.read += moved;
      counts_.written += moved;
    }
}

}  // namespace draftline
