// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/elementwise.h"

#include "decoder/cuda/launch.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void add_kernel(View<const T> a, View<const T> b, View<T> y) {
  const int c = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int r = static_cast<int>(blockIdx.y);
  if (c < y.cols) y.row(r)[c] = from_float<T>(to_float(a.row(r)[c]) + to_float(b.row(r)[c]));
}

}  // namespace

template <class T>
void add(View<const T> a, View<const T> b, View<T> y, cudaStream_t stream) {
  launch(add_kernel<T>, grid_of(ceil_div(y.cols, kThreads), y.rows), dim3(kThreads), 0, stream, a, b, y);
}
template void add(View<const float>, View<const float>, View<float>, cudaStream_t);
template void add(View<const bf16>, View<const bf16>, View<bf16>, cudaStream_t);

}  // namespace draftline::cuda
