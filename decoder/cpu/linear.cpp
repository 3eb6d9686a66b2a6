// SPDX-License-Identifier: Apache-2.0
// Matrix products in a fixed order: every output adds its inputs from the first to the last, whatever the number of
// rows is. (Libraries change a row's bits with the number of rows.) Weights lie in panels of 16 columns, which are read
// once for every four rows.
#include <algorithm>

#include "core/int_indexed.h"
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
  auto& packed = panels_.try_emplace(w.id, &panel_memory_).first->second;
  if (packed.empty()) {
    const float* plain = weight(w, false);
    const int n = panels_for(w.out);
    packed.resize(at(n) * at(w.in));
    for (int p = 0; p < n; ++p)
      for (int i = 0; i < w.in; ++i)
        for (int c = 0; c < kPanel && p * kPanel + c < w.out; ++c)
          packed[at(p) * at(w.in) + at(i)].column[c] = plain[at(i) * at(w.out) + at(p * kPanel + c)];
    weights_.erase(w.id);  // the copy in panels replaces it
  }
  return packed.data();
}

void CpuBackend::run(const Linear& o) {
  const float *x = in(o.x), *bias = o.bias ? weight(*o.bias) : nullptr;
  const PanelLine* w = panels(o.w);
  float* y = out(o.y);
  counts_.read += o.w.elements() * bits_of(o.w.dtype) / 8;
  for (int j = 0; j < o.w.out; j += kPanel) {
    const PanelLine* panel = w + std::ptrdiff_t{j / kPanel} * o.w.in;
    const int columns = std::min(kPanel, o.w.out - j);
    for (int r = 0; r < o.x.rows; r += 4) {
      const int rows = std::min(4, o.x.rows - r);
      PanelLine sum[4];
      tile_of(rows, x + std::ptrdiff_t{r} * o.x.stride, o.x.stride, o.w.in, panel, sum);
      for (int q = 0; q < rows; ++q)
        for (int c = 0; c < columns; ++c)
          y[std::ptrdiff_t{r + q} * o.y.stride + j + c] = sum[q].column[c] + (bias ? bias[j + c] : 0.0F);
      counts_.flops += 2.0 * rows * columns * o.w.in;
    }
  }
}

}  // namespace draftline
