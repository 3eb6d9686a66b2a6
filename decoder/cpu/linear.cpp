// SPDX-License-Identifier: Apache-2.0
// Matrix products in a fixed order: every output adds its inputs from the first to the last, whatever the number of
// rows is. (Libraries change a row's bits with the number of rows.) Weights lie in panels of 16 columns, which are read
// once for every four rows.
#include <algorithm>
#include <cmath>

#include "decoder/cpu/backend.h"

namespace draftline {

namespace {

// Always inlined, so that each clone of tile_of has its own.
template <int R>
__attribute__((always_inline)) inline void tile(const float* x, std::ptrdiff_t x_stride, int in, const PanelLine* panel,
                                                PanelLine (&sum)[4]) {
  Vector acc[R] = {};
  for (int i = 0; i < in; ++i) {
    const Vector w = *reinterpret_cast<const Vector*>(panel + i);
    for (int r = 0; r < R; ++r) acc[r] += x[r * x_stride + i] * w;
  }
  for (int r = 0; r < R; ++r) *reinterpret_cast<Vector*>(sum + r) = acc[r];
}

WIDEST_VECTORS void tile_of(int rows, const float* x, std::ptrdiff_t x_stride, int in, const PanelLine* panel,
                            PanelLine (&sum)[4]) {
  switch (rows) {
    case 1: tile<1>(x, x_stride, in, panel, sum); break;
    case 2: tile<2>(x, x_stride, in, panel, sum); break;
    case 3: tile<3>(x, x_stride, in, panel, sum); break;
    default: tile<4>(x, x_stride, in, panel, sum); break;
  }
}

}  // namespace

const PanelLine* CpuBackend::panels(const Weight& w) {
  auto& packed = panels_[w.id];
  if (packed.empty()) {
    const float* plain = weight(w, false);
    const int n = panels_for(w.out);
    packed.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(w.in));
    for (int p = 0; p < n; ++p)
      for (int i = 0; i < w.in; ++i)
        for (int c = 0; c < kPanel && p * kPanel + c < w.out; ++c)
          packed[static_cast<std::size_t>(p) * static_cast<std::size_t>(w.in) + static_cast<std::size_t>(i)].column[c] =
              plain[static_cast<std::size_t>(i) * static_cast<std::size_t>(w.out) +
                    static_cast<std::size_t>(p * kPanel + c)];
    weights_.erase(w.id);  // the copy in panels replaces it
  }
  return packed.data();
}

void CpuBackend::run(const Linear& o) {
  const float *x = in(o.x), *bias = o.bias ? weight(*o.bias) : nullptr;
  const PanelLine* w = panels(o.w);
  float* y = out(o.y);
  counts_.read += static_cast<double>(o.w.in) * o.w.out * bits_of(o.w.dtype) / 8;
  for (int j = 0; j < o.w.out; j += kPanel) {
    const PanelLine* panel = w + static_cast<std::ptrdiff_t>(j / kPanel) * o.w.in;
    const int columns = std::min(kPanel, o.w.out - j);
    for (int r = 0; r < o.x.rows; r += 4) {
      const int rows = std::min(4, o.x.rows - r);
      PanelLine sum[4];
      tile_of(rows, x + static_cast<std::ptrdiff_t>(r) * o.x.stride, o.x.stride, o.w.in, panel, sum);
      for (int q = 0; q < rows; ++q)
        for (int c = 0; c < columns; ++c)
          y[static_cast<std::ptrdiff_t>(r + q) * o.y.stride + j + c] = sum[q].column[c] + (bias ? bias[j + c] : 0.0F);
      counts_.flops += 2.0 * rows * columns * o.w.in;
    }
  }
}

// A reference implementation, not a fast one: each row visits its experts by itself.
void CpuBackend::run(const MixtureOfExperts& o) {
  const float *x = in(o.x), *router = weight(o.router, false), *gate_up = weight(o.gate_up, false),
              *down = weight(o.down, false);
  float* y = out(o.y);
  const int hidden = o.x.cols, inner = o.gate_up.out / 2;
  std::vector<double> score(static_cast<std::size_t>(o.experts));
  std::vector<int> order(score.size());
  std::vector<float> wide(static_cast<std::size_t>(inner));
  std::vector<bool> touched(score.size());
  const double expert = 3.0 * hidden * inner;
  counts_.read += static_cast<double>(hidden) * o.experts * bits_of(o.router.dtype) / 8;
  for (int r = 0; r < o.x.rows; ++r) {
    const float* row = x + static_cast<std::ptrdiff_t>(r) * o.x.stride;
    float* to = y + static_cast<std::ptrdiff_t>(r) * o.y.stride;
    double top = -INFINITY, sum = 0, kept = 0;
    for (int e = 0; e < o.experts; ++e) {
      float s = 0;
      for (int i = 0; i < hidden; ++i) s += row[i] * router[i * o.experts + e];
      score[static_cast<std::size_t>(e)] = s;
      order[static_cast<std::size_t>(e)] = e;
      top = std::max(top, static_cast<double>(s));
    }
    counts_.flops += 2.0 * hidden * o.experts;
    for (double& s : score) sum += s = std::exp(s - top);
    std::partial_sort(order.begin(), order.begin() + o.per_token, order.end(), [&](int a, int b) {
      const double sa = score[static_cast<std::size_t>(a)], sb = score[static_cast<std::size_t>(b)];
      return sa != sb ? sa > sb : a < b;
    });
    for (int j = 0; j < o.per_token; ++j) kept += score[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])];
    std::fill_n(to, hidden, 0.0F);
    for (int j = 0; j < o.per_token; ++j) {
      const int e = order[static_cast<std::size_t>(j)];
      const auto share = static_cast<float>(score[static_cast<std::size_t>(e)] / (o.normalise ? kept : sum));
      if (!touched[static_cast<std::size_t>(e)]) counts_.read += expert * bits_of(o.gate_up.dtype) / 8;
      touched[static_cast<std::size_t>(e)] = true;
      counts_.flops += 2 * expert;
      const float* up = gate_up + static_cast<std::ptrdiff_t>(e) * hidden * o.gate_up.out;
      const float* back = down + static_cast<std::ptrdiff_t>(e) * inner * hidden;
      for (int f = 0; f < inner; ++f) {
        float g = 0, u = 0;
        for (int i = 0; i < hidden; ++i) {
          g += row[i] * up[i * o.gate_up.out + f];
          u += row[i] * up[i * o.gate_up.out + inner + f];
        }
        wide[static_cast<std::size_t>(f)] = g / (1 + std::exp(-g)) * u;
      }
      for (int i = 0; i < hidden; ++i) {
        float s = 0;
        for (int f = 0; f < inner; ++f) s += wide[static_cast<std::size_t>(f)] * back[f * hidden + i];
        to[i] += share * s;
      }
    }
  }
}

}  // namespace draftline
