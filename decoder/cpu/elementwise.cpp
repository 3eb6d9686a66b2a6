// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>

#include "core/int_indexed.h"
#include "decoder/cpu/activations.h"
#include "decoder/cpu/backend.h"

namespace draftline {

template <class T>
static T* row(T* base, const Tensor& t, int r) {
  return base + std::ptrdiff_t{r} * t.stride;
}

// y = x / rms(x) * w over each group of `width` columns; w has a value per column or per column of a group, or none.
static void rms_norm_row(const float* x, IntSpan<const float> w, int columns, int width, float epsilon, float* y) {
  for (int g = 0; g < columns; g += width) {
    float sum = 0;
    for (int i = 0; i < width; ++i) sum += x[g + i] * x[g + i];
    const float scale = 1 / std::sqrt(sum / single(width) + epsilon);
    for (int i = 0; i < width; ++i) y[g + i] = x[g + i] * scale;
    if (w.size() == 0) continue;
    const float* w_here = w.begin() + g % w.size();
    for (int i = 0; i < width; ++i) y[g + i] *= w_here[i];
  }
}

void CpuBackend::run(const Embed& o) {
  const float* table = weight(o.table, false);
  const int* id = ids(o.ids);
  float* y = out(o.y);
  for (int r = 0; r < o.y.rows; ++r) {
    const int token = id[r * o.ids.stride];
    check(token >= 0 && token < o.table.in, "embed: an id outside of the vocabulary");
    const float* entry = table + std::ptrdiff_t{token} * o.table.out;
    for (int i = 0; i < o.table.out; ++i) row(y, o.y, r)[i] = entry[i] * o.scale;
    counts_.read += bytes_of(o.table.dtype, o.table.out).value;
  }
}

void CpuBackend::run(const RmsNorm& o) {
  const float* x = in(o.x);
  const std::span<const float> w = o.w ? std::span(weight(*o.w), at(o.w->out)) : std::span<const float>{};
  float* y = out(o.y);
  for (int r = 0; r < o.x.rows; ++r) rms_norm_row(row(x, o.x, r), w, o.x.cols, o.width, o.epsilon, row(y, o.y, r));
}

void CpuBackend::run(const AddRmsNorm& o) {
  const float *h = in(o.h), *delta = in(o.delta);
  const std::span w(weight(o.w), at(o.w.out));
  float *sum = out(o.sum), *y = out(o.y);
  for (int r = 0; r < o.h.rows; ++r) {
    for (int i = 0; i < o.h.cols; ++i) row(sum, o.sum, r)[i] = row(h, o.h, r)[i] + row(delta, o.delta, r)[i];
    rms_norm_row(row(sum, o.sum, r), w, o.h.cols, o.h.cols, o.epsilon, row(y, o.y, r));
  }
}

void CpuBackend::run(const LayerNorm& o) {
  const float *x = in(o.x), *w = weight(o.w), *bias = weight(o.bias);
  float* y = out(o.y);
  const auto n = single(o.x.cols);
  for (int r = 0; r < o.x.rows; ++r) {
    const float* from = row(x, o.x, r);
    float mean = 0, variance = 0;
    for (int i = 0; i < o.x.cols; ++i) mean += from[i];
    mean /= n;
    for (int i = 0; i < o.x.cols; ++i) variance += (from[i] - mean) * (from[i] - mean);
    const float scale = 1 / std::sqrt(variance / n + o.epsilon);
    for (int i = 0; i < o.x.cols; ++i) row(y, o.y, r)[i] = (from[i] - mean) * scale * w[i] + bias[i];
  }
}

void CpuBackend::run(const Add& o) {
  const float *a = in(o.a), *b = in(o.b);
  float* y = out(o.y);
  for (int r = 0; r < o.a.rows; ++r)
    for (int i = 0; i < o.a.cols; ++i) row(y, o.y, r)[i] = row(a, o.a, r)[i] + row(b, o.b, r)[i];
}

void CpuBackend::run(const SiluMul& o) {
  const float* x = in(o.gate_up);
  float* y = out(o.y);
  for (int r = 0; r < o.y.rows; ++r)
    for (int i = 0; i < o.y.cols; ++i)
      row(y, o.y, r)[i] = silu(row(x, o.gate_up, r)[i]) * row(x, o.gate_up, r)[o.y.cols + i];
}

void CpuBackend::run(const GeluMul& o) {
  const float* x = in(o.gate_up);
  float* y = out(o.y);
  for (int r = 0; r < o.y.rows; ++r)
    for (int i = 0; i < o.y.cols; ++i)
      row(y, o.y, r)[i] = gelu_by_tanh(row(x, o.gate_up, r)[i]) * row(x, o.gate_up, r)[o.y.cols + i];
}

void CpuBackend::run(const GatedRmsNorm& o) {
  const float *x = in(o.x), *gate = in(o.gate);
  const std::span<const float> w = o.w ? std::span(weight(*o.w), at(o.w->out)) : std::span<const float>{};
  float* y = out(o.y);
  std::vector<float> values(at(o.x.cols));
  const auto normalise = [&](int r) {
    if (o.w) rms_norm_row(values.data(), w, o.x.cols, o.width, o.epsilon, row(y, o.y, r));
    else std::ranges::copy(values, row(y, o.y, r));
  };
  for (int r = 0; r < o.y.rows; ++r) {
    const float* gates = row(gate, o.gate, r);
    std::copy_n(row(x, o.x, r), o.x.cols, values.begin());
    if (o.form == NormGate::silu_first)
      for (int i = 0; i < o.x.cols; ++i) values[at(i)] *= silu(gates[i]);
    normalise(r);
    if (o.form == NormGate::silu_first) continue;
    for (int i = 0; i < o.y.cols; ++i)
      row(y, o.y, r)[i] *= o.form == NormGate::silu ? silu(gates[i]) : 1 / (1 + std::exp(-gates[i]));
  }
}

void CpuBackend::run(const SiluAdd& o) {
  const float *a = in(o.a), *b = in(o.b);
  float* y = out(o.y);
  for (int r = 0; r < o.a.rows; ++r)
    for (int i = 0; i < o.a.cols; ++i) row(y, o.y, r)[i] = row(a, o.a, r)[i] + silu(row(b, o.b, r)[i]);
}

void CpuBackend::run(const SquaredRelu& o) {
  const float* x = in(o.x);
  float* y = out(o.y);
  for (int r = 0; r < o.x.rows; ++r)
    for (int i = 0; i < o.x.cols; ++i) {
      const float v = std::max(row(x, o.x, r)[i], 0.0F);
      row(y, o.y, r)[i] = v * v;
    }
}

void CpuBackend::run(const Gelu& o) {
  const float* x = in(o.x);
  float* y = out(o.y);
  for (int r = 0; r < o.x.rows; ++r)
    for (int i = 0; i < o.x.cols; ++i) {
      const float v = row(x, o.x, r)[i];
      row(y, o.y, r)[i] = 0.5F * v * (1 + std::erf(v * 0.70710678F));
    }
}

void CpuBackend::run(const SigmoidMul& o) {
  const float *x = in(o.x), *gate = in(o.gate);
  float* y = out(o.y);
  for (int r = 0; r < o.x.rows; ++r)
    for (int i = 0; i < o.x.cols; ++i)
      row(y, o.y, r)[i] = row(x, o.x, r)[i] / (1 + std::exp(-row(gate, o.gate, r)[o.gate.cols == 1 ? 0 : i]));
}

void CpuBackend::run(const AddScaled& o) {
  const float *a = in(o.a), *b = in(o.b), scale = *weight(o.scale);
  float* y = out(o.y);
  for (int r = 0; r < o.y.rows; ++r)
    for (int i = 0; i < o.y.cols; ++i) row(y, o.y, r)[i] = (row(a, o.a, r)[i] + row(b, o.b, r)[i]) * scale;
}

void CpuBackend::run(const SoftCap& o) {
  const float* x = in(o.x);
  float* y = out(o.y);
  for (int r = 0; r < o.y.rows; ++r)
    for (int i = 0; i < o.y.cols; ++i) row(y, o.y, r)[i] = o.cap * std::tanh(row(x, o.x, r)[i] / o.cap);
}

void CpuBackend::run(const CosineGate& o) {
  const float *q = in(o.q), *k = in(o.k), *v = in(o.v);
  float* y = out(o.y);
  for (int r = 0; r < o.q.rows; ++r)
    for (int first = 0; first < o.q.cols; first += o.head_dim) {
      const float *a = q + r * o.q.stride + first, *b = k + r * o.k.stride + first;
      float ab = 0, aa = 0, bb = 0;
      for (int c = 0; c < o.head_dim; ++c) {
        ab += a[c] * b[c];
        aa += a[c] * a[c];
        bb += b[c] * b[c];
      }
      const float gate = aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
      for (int c = first; c < first + o.head_dim; ++c) y[r * o.y.stride + c] = gate * v[r * o.v.stride + c];
    }
}

void CpuBackend::run(const GruCell& o) {
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  const float *input = in(o.input), *gates = o.gates ? in(*o.gates) : nullptr,
              *state = o.state ? in(*o.state) : nullptr;
  float* y = out(o.y);
  const int columns = o.y.cols;
  const std::vector<float> zeros(at(o.input.cols));
  for (int r = 0; r < o.y.rows; ++r) {
    const float *x = row(input, o.input, r), *g = gates ? row(gates, *o.gates, r) : zeros.data(),
                *before = state ? row(state, *o.state, r) : zeros.data();
    for (int c = 0; c < columns; ++c) {
      const float reset = sigmoid(x[c] + g[c]), kept = sigmoid(x[columns + c] + g[columns + c]),
                  next = std::tanh(x[2 * columns + c] + reset * g[2 * columns + c]);
      row(y, o.y, r)[c] = next + kept * (before[c] - next);
    }
  }
}

void CpuBackend::run(const GroupedConv& o) {
  const float *x = in(o.x), *delta = in(o.delta), *base = weight(o.base);
  float* y = out(o.y);
  const int taps = o.base.in, groups = o.delta.cols / taps, width = o.x.cols / groups;
  for (int r = 0; r < o.x.rows; ++r)
    for (int c = 0; c < o.x.cols; ++c) {
      float sum = 0;
      for (int t = 0; t < taps && t <= r % o.block; ++t)
        sum += (base[t * o.x.cols + c] + row(delta, o.delta, r)[t * groups + c / width]) * row(x, o.x, r - t)[c];
      row(y, o.y, r)[c] = sum;
    }
}

}  // namespace draftline
