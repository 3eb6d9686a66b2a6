// SPDX-License-Identifier: Apache-2.0
// Each head's products with its part of the matrix that expands latents. Reference loops, not fast ones: every output
// adds its inputs in order.
#include <algorithm>

#include "decoder/cpu/backend.h"

namespace draftline {

void CpuBackend::run(const AbsorbQueries& o) {
  const LatentAttention& l = o.dims;
  const float *q = read_only(o.q), *w = weight(o.kv_b, false);
  float* y = out(o.y);
  const int heads = o.y.cols / l.kv_rank, of_head = l.nope_dim + l.value_dim;
  for (int h = 0; h < heads; ++h) {
    counts_.read += 1.0 * l.kv_rank * l.nope_dim * bits_of(o.kv_b.dtype) / 8;
    for (int r = 0; r < o.q.rows; ++r) {
      const float* query = q + r * o.q.stride + h * (l.nope_dim + l.rope_dim);
      for (int c = 0; c < l.kv_rank; ++c) {
        const float* column = w + std::ptrdiff_t{c} * o.kv_b.out + h * of_head;
        float sum = 0;
        for (int i = 0; i < l.nope_dim; ++i) sum += query[i] * column[i];
        y[r * o.y.stride + h * l.kv_rank + c] = sum;
      }
      counts_.read += bytes_of(o.q.dtype, l.nope_dim).value;
      counts_.flops += 2.0 * l.nope_dim * l.kv_rank;
    }
  }
}

void CpuBackend::run(const ExpandValues& o) {
  const LatentAttention& l = o.dims;
  const float *x = in(o.x), *w = weight(o.kv_b, false);
  float* y = out(o.y);
  const int heads = o.y.cols / l.value_dim, of_head = l.nope_dim + l.value_dim;
  for (int h = 0; h < heads; ++h) {
    counts_.read += 1.0 * l.kv_rank * l.value_dim * bits_of(o.kv_b.dtype) / 8;
    for (int r = 0; r < o.x.rows; ++r) {
      const float* latent = x + r * o.x.stride + h * l.kv_rank;
      float* to = y + r * o.y.stride + h * l.value_dim;
      std::fill_n(to, l.value_dim, 0.0F);
      for (int i = 0; i < l.kv_rank; ++i) {
        const float* line = w + std::ptrdiff_t{i} * o.kv_b.out + h * of_head + l.nope_dim;
        for (int c = 0; c < l.value_dim; ++c) to[c] += latent[i] * line[c];
      }
      counts_.flops += 2.0 * l.kv_rank * l.value_dim;
    }
  }
}

}  // namespace draftline
