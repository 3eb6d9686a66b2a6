// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "decoder/cpu/backend.h"
#include "decoder/rope.h"

namespace draftline {

const std::vector<float>& CpuBackend::frequencies(const Rope& rope) {
  auto& f = frequencies_[{rope.theta, rope.columns, rope.scaling ? rope.scaling->factor : 0}];
  if (f.empty()) f = rope_frequencies(rope);
  return f;
}

// Halves of the rotated columns are the two coordinates; columns beyond stay as they are.
static void rotate(const float* x, const std::vector<float>& frequency, int position, int dim, float* y) {
  const int half = static_cast<int>(frequency.size());
  for (int i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * frequency[static_cast<std::size_t>(i)];
    const float c = std::cos(angle), s = std::sin(angle), u = x[i], v = x[i + half];
    y[i] = u * c - v * s;
    y[i + half] = u * s + v * c;
  }
  std::copy(x + 2 * half, x + dim, y + 2 * half);
}

void CpuBackend::run(const RopeAppend& o) {
  const float *q = in(o.q), *k = in(o.k), *v = in(o.v);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const auto& frequency = frequencies(o.rope);
  const int d = o.cache.head_dim, kv_columns = o.cache.kv_heads * d;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    for (int i = 0; i < p.starts[b + 1] - p.starts[b]; ++i, ++r) {
      const int position = p.lengths[b] + p.visible_tail(r, i) - 1;
      float* to = entry(o.cache, o.layer, p.places[b], p.lengths[b] + p.pass.tail + i);
      for (int h = 0; h < o.q.cols; h += d)
        rotate(q + r * o.q.stride + h, frequency, position, d, y + r * o.y.stride + h);
      for (int h = 0; h < kv_columns; h += d) rotate(k + r * o.k.stride + h, frequency, position, d, to + h);
      std::copy_n(v + r * o.v.stride, kv_columns, to + kv_columns);
      counts_.written += o.cache.row_bytes().value;
    }
  }
}

// Turns scores into weights that sum to 1; a masked entry (-inf) becomes an exact zero, so that it changes no bits.
static void softmax(std::vector<float>& score) {
  const float top = *std::max_element(score.begin(), score.end());
  float sum = 0;
  for (float& s : score) sum += s = std::exp(s - top);
  for (float& s : score) s /= sum;
}

static float dot(const float* a, const float* b, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

void CpuBackend::run(const Attend& o) {
  const float* q = in(o.q);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const int d = o.cache.head_dim, heads = o.q.cols / d, group = heads / o.cache.kv_heads, v_at = o.cache.kv_heads * d;
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  std::vector<float> score;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    const int n = p.starts[b + 1] - p.starts[b], before = p.lengths[b] + p.pass.tail;
    if (n > 0) counts_.read += (before + n) * o.cache.row_bytes().value;
    for (int i = 0; i < n; ++i, ++r) {
      check(p.visible(r, p.pass.tail + i), "a row must see itself");
      const int keys =
          before + (p.sees ? n : i + 1);  // under a mask every pair of the tail is computed, as a tile does
      for (int h = 0; h < heads; ++h) {
        const int at = h / group * d;
        score.assign(static_cast<std::size_t>(keys), -INFINITY);
        for (int key = 0; key < keys; ++key) {
          const float s = dot(q + r * o.q.stride + h * d, cache_entry(o.cache, o.layer, p.places[b], key) + at, d);
          const int tail_entry = key - p.lengths[b];
          if (tail_entry < 0 || p.visible(r, tail_entry)) score[static_cast<std::size_t>(key)] = s * scale;
        }
        softmax(score);
        float* to = y + r * o.y.stride + h * d;
        std::fill_n(to, d, 0.0F);
        for (int key = 0; key < keys; ++key) {
          const float* v = cache_entry(o.cache, o.layer, p.places[b], key) + v_at + at;
          const float s = score[static_cast<std::size_t>(key)];
          for (int c = 0; c < d; ++c) to[c] += s * v[c];
        }
        counts_.flops += 4.0 * d * keys;
      }
    }
  }
}

void CpuBackend::run(const GroupAttend& o) {
  const float *q = in(o.q), *k = in(o.k), *v = in(o.v);
  float* y = out(o.y);
  const int d = o.head_dim, heads = o.q.cols / d, group = heads / (o.k.cols / d);
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  std::vector<float> score;
  for (int r = 0; r < o.q.rows; ++r) {
    const int first = r / o.group * o.group, keys = o.causal ? r - first + 1 : o.group;
    score.resize(static_cast<std::size_t>(keys));
    for (int h = 0; h < heads; ++h) {
      const int at = h / group * d;
      for (int j = 0; j < keys; ++j)
        score[static_cast<std::size_t>(j)] =
            dot(q + r * o.q.stride + h * d, k + (first + j) * o.k.stride + at, d) * scale;
      softmax(score);
      float* to = y + r * o.y.stride + h * d;
      std::fill_n(to, d, 0.0F);
      for (int j = 0; j < keys; ++j)
        for (int c = 0; c < d; ++c) to[c] += score[static_cast<std::size_t>(j)] * v[(first + j) * o.v.stride + at + c];
      counts_.flops += 4.0 * d * keys;
    }
  }
}

}  // namespace draftline
