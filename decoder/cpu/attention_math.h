// SPDX-License-Identifier: Apache-2.0
// Functions that the CPU's forms of attention share.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/cpu/lines.h"
#include "decoder/weights.h"

namespace draftline {

// Sines and cosines of one position, which all heads share.
struct Turn {
  std::vector<float> cosine, sine;
  void to(int position, const std::vector<float>& frequency, float factor) {
    cosine.resize(frequency.size());
    sine.resize(frequency.size());
    for (std::size_t i = 0; i < frequency.size(); ++i) {
      const float angle = single(position) * frequency[i];
      cosine[i] = factor * std::cos(angle);
      sine[i] = factor * std::sin(angle);
    }
  }
};

// The two halves of the rotated columns contain the two coordinates of each pair; other columns are copied.
inline void rotate(const float* x, const Turn& turn, int dim, float* y) {
  const int half = count(turn.sine);
  const float *c = turn.cosine.data(), *s = turn.sine.data();
  for (int i = 0; i < half; ++i) {
    const float u = x[i], v = x[i + half];
    y[i] = u * c[i] - v * s[i];
    y[i + half] = u * s[i] + v * c[i];
  }
  std::copy(x + 2 * half, x + dim, y + 2 * half);
}

// Converts scores to weights that sum to 1, or to less with a sink. A masked entry (-inf) becomes exactly zero, so that
// it does not change bits.
inline void softmax(std::span<float> score, const float* sink = nullptr) {
  float most[kPanel];  // the maximum does not depend on the order of comparisons
  std::fill_n(most, kPanel, -INFINITY);
  std::size_t i = 0;
  for (; i + kPanel <= score.size(); i += kPanel)
    for (std::size_t lane = 0; lane < kPanel; ++lane)
      most[lane] = score[i + lane] > most[lane] ? score[i + lane] : most[lane];
  float top = *std::max_element(most, most + kPanel);
  for (; i < score.size(); ++i) top = score[i] > top ? score[i] : top;
  if (sink != nullptr) top = *sink > top ? *sink : top;
  float sum = 0;
  for (float& s : score) sum += s = std::exp(s - top);
  if (sink != nullptr) sum += std::exp(*sink - top);
  for (float& s : score) s /= sum;
}

inline float dot(const float* a, const float* b, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

}  // namespace draftline
