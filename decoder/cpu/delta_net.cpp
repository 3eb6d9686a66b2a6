// SPDX-License-Identifier: Apache-2.0
// Gated delta networks (Yang et al. 2024, equation 10), row by row: a chunked kernel computes the same states by other
// sums.
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
  const float *q, *k, *v;
  float decay, beta;
  float* y;
};
void delta_step(float* state, const HeadRow& row, int keys, int values, float* change) {
  const auto [q, k, v, decay, beta, y] = row;
  std::fill_n(change, values, 0.0F);
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j) {
      state[i * values + j] *= decay;
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
  const float *x = in(o.x), *w = weight(o.w);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  CpuStates& held = states_[at(o.cache.id)];
  const int columns = o.x.cols, before = o.cache.net.kernel - 1;
  const bool prompts = p.pass.rows.prompts;
  const std::vector<float> nothing(at(columns));
  const double row_bytes = o.cache.row_bytes().value;
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, position = p.lengths[b] + p.pass.tail;
    const auto input =
        [&](int row) -> const float* {  // of the sequence's rows in the pass; below 0: kept of those before
      if (row >= 0) return x + (first + row) * o.x.stride;
      return prompts || position + row < 0 ? nothing.data() : held.row(o.layer, p.kv_slots[b], position + row).data();
    };
    if (!prompts) counts_.read += before * row_bytes;
    for (int r = 0; r < n; ++r) {
      float* to = y + (first + r) * o.y.stride;
      std::fill_n(to, columns, 0.0F);
      for (int t = 0; t <= before; ++t) {
        const float *from = input(r - before + t), *weights = w + t * columns;
        for (int c = 0; c < columns; ++c) to[c] += weights[c] * from[c];
      }
      for (int c = 0; c < columns; ++c) to[c] /= 1 + std::exp(-to[c]);
    }
    for (int r = prompts ? n - before : 0; r < n; ++r) {
      std::copy_n(input(r), columns, held.row(o.layer, p.kv_slots[b], position + r).data());
      counts_.written += row_bytes;
    }
  }
}

void CpuBackend::run(const GatedDeltaRule& o) {
  const float *qkv = in(o.qkv), *gates = in(o.gates), *a_log = weight(o.a_log), *dt_bias = weight(o.dt_bias);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  CpuStates& held = states_[at(o.cache.id)];
  const DeltaNet& net = o.cache.net;
  const int keys = net.key_dim, values = net.value_dim, group = net.value_heads / net.key_heads;
  const auto size = at(keys) * at(values);
  const bool prompts = p.pass.rows.prompts;
  const float scale = 1 / std::sqrt(single(keys));
  std::vector<float> state(size), q(at(keys)), k(q), change(at(values));
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, position = p.lengths[b] + p.pass.tail;
    const auto state_of = [&](int row, int head) {  // after that row of the sequence in the pass
      return held.state(o.layer, p.kv_slots[b], position + row).subspan(at(head) * size, size);
    };
    for (int head = 0; head < net.value_heads; ++head) {
      if (prompts || position == 0) std::fill(state.begin(), state.end(), 0.0F);
      else std::ranges::copy(state_of(-1, head), state.begin());
      for (int r = 0; r < n; ++r) {
        const float *from = qkv + (first + r) * o.qkv.stride, *gate = gates + (first + r) * o.gates.stride;
        const float beta = 1 / (1 + std::exp(-gate[head]));
        const float decay = std::exp(-std::exp(a_log[head]) * softplus(gate[net.value_heads + head] + dt_bias[head]));
        normalise(from + head / group * keys, keys, scale, q.data());
        normalise(from + net.key_columns() + head / group * keys, keys, 1, k.data());
        const HeadRow row{.q = q.data(),
                          .k = k.data(),
                          .v = from + 2 * net.key_columns() + head * values,
                          .decay = decay,
                          .beta = beta,
                          .y = y + (first + r) * o.y.stride + head * values};
        delta_step(state.data(), row, keys, values, change.data());
        counts_.flops += 6.0 * keys * values;
        if (!prompts || r == n - 1) std::ranges::copy(state, state_of(r, head).begin());
      }
    }
    if (!prompts) counts_.read += o.cache.state_bytes().value;
    counts_.written += (prompts ? 1 : n) * o.cache.state_bytes().value;
  }
}

}  // namespace draftline
