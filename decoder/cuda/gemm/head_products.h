// SPDX-License-Identifier: Apache-2.0
// Each head's product with its own part of a matrix that all heads share, as latent attention absorbs queries and
// expands values (AbsorbQueries and ExpandValues in decoder/op/latent_attention.h). One launch for all heads.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// Output c of head h is the sum over i of x[row][h * x_apart + i] * w_h(i, c), at y[row][h * out + c]. The weights of a
// head begin w_apart columns behind those of the one before; w_h(i, c) is at row i, column c, or, transposed, at row c,
// column i.
template <class T>
struct HeadProducts {
  View<const T> x;
  const T* w;
  View<T> y;
  int heads, in, out;
  int x_apart, w_apart, w_stride;
  bool transposed;
};
template <class T>
void head_products(const HeadProducts<T>&, cudaStream_t);

}  // namespace draftline::cuda
