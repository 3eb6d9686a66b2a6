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

// Products of one row with `keys` rows, `stride` floats apart. Several sums go on side by side, each in its own order: the
// bits of one alone, without the wait for one addition after the other.
static void dots(const float* a, const float* rows, std::ptrdiff_t stride, int keys, int n, float scale, float* to) {
  constexpr int kAtOnce = 4;
  int key = 0;
  for (; key + kAtOnce <= keys; key += kAtOnce) {
    const float* row = rows + key * stride;
    float s[kAtOnce] = {};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < kAtOnce; ++j) s[j] += a[i] * row[j * stride + i];
    for (int j = 0; j < kAtOnce; ++j) to[key + j] = s[j] * scale;
  }
  for (; key < keys; ++key) to[key] = dot(a, rows + key * stride, n) * scale;
}

// Sum of weight x row, row after row; columns in groups that stay in registers.
static void weighted_sum(const std::vector<float>& weight, const float* rows, std::ptrdiff_t stride, int n, float* to) {
  constexpr int kGroup = 8;
  int c = 0;
  for (; c + kGroup <= n; c += kGroup) {
    float s[kGroup] = {};
    const float* row = rows + c;
    for (const float w : weight) {
      for (int j = 0; j < kGroup; ++j) s[j] += w * row[j];
      row += stride;
    }
    std::copy_n(s, kGroup, to + c);
  }
  for (; c < n; ++c) {
    float s = 0;
    const float* row = rows + c;
    for (const float w : weight) {
      s += w * *row;
      row += stride;
    }
    to[c] = s;
  }
}

void CpuBackend::run(const Attend& o) {
  const float* q = in(o.q);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const int d = o.cache.head_dim, heads = o.q.cols / d, group = heads / o.cache.kv_heads, v_at = o.cache.kv_heads * d;
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  const std::ptrdiff_t columns = o.cache.columns();
  std::vector<float> score;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    const int n = p.starts[b + 1] - p.starts[b], before = p.lengths[b] + p.pass.tail;
    if (n == 0) continue;
    counts_.read += (before + n) * o.cache.row_bytes().value;
    const float* entries = cache_entry(o.cache, o.layer, p.places[b], 0);
    cache_entry(o.cache, o.layer, p.places[b], before + n - 1);  // is within the cache
    for (int i = 0; i < n; ++i, ++r) {
      check(p.visible(r, p.pass.tail + i), "a row must see itself");
      const int keys =
          before + (p.sees ? n : i + 1);  // under a mask every pair of the tail is computed, as a tile does
      for (int h = 0; h < heads; ++h) {
        const int at = h / group * d;
        score.resize(static_cast<std::size_t>(keys));
        dots(q + r * o.q.stride + h * d, entries + at, columns, keys, d, scale, score.data());
        for (int key = p.lengths[b]; key < keys; ++key)
          if (!p.visible(r, key - p.lengths[b])) score[static_cast<std::size_t>(key)] = -INFINITY;
        softmax(score);
        weighted_sum(score, entries + v_at + at, columns, d, y + r * o.y.stride + h * d);
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
