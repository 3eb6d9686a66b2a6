// SPDX-License-Identifier: Apache-2.0
// Norms: a block for each row and group of columns. Sums in fp32 by a fixed tree: a row's bits don't depend on the others.
#include "decoder/cuda/elementwise.h"
#include "decoder/cuda/launch.h"

namespace draftline::cuda {

namespace {

constexpr int kMostWarps = 16;
// A warp alone for a head's columns, else as many as keep about eight values for each thread.
int threads_for(int width) {
  const int warps = ceil_div(width, 256);
  return 32 * (warps < kMostWarps ? warps : kMostWarps);
}

// The sum over the block, known to all of its threads.
__device__ inline float block_sum(float v) {
  __shared__ float partial[kMostWarps];
  const int warps = static_cast<int>(blockDim.x) / 32;
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffU, v, o);
  if (warps == 1) return v;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (int i = 0; i < warps; ++i) v += partial[i];
  __syncthreads();  // before the next sum writes its parts
  return v;
}

template <class T>
__global__ void rms_norm_kernel(View<const T> x, View<const T> delta, View<T> sum, View<const T> w, int width,
                                float epsilon, View<T> y) {
  const int r = static_cast<int>(blockIdx.x), first = static_cast<int>(blockIdx.y) * width;
  const int step = static_cast<int>(blockDim.x), begin = first + static_cast<int>(threadIdx.x), end = first + width;
  const T* in = x.row(r);
  float squares = 0;
  if (delta.data != nullptr) {
    const T* more = delta.row(r);
    T* out = sum.row(r);
    for (int c = begin; c < end; c += step) {
      const T stored = from_float<T>(to_float(in[c]) + to_float(more[c]));
      out[c] = stored;
      squares += to_float(stored) * to_float(stored);
    }
    in = out;  // each thread reads back what it wrote itself
  } else {
    for (int c = begin; c < end; c += step) squares += to_float(in[c]) * to_float(in[c]);
  }
  const float scale = 1 / sqrtf(block_sum(squares) / static_cast<float>(width) + epsilon);
  for (int c = begin; c < end; c += step)
    y.row(r)[c] = from_float<T>(to_float(in[c]) * scale * to_float(w.data[c % w.cols]));
}

template <class T>
__global__ void layer_norm_kernel(View<const T> x, View<const T> w, View<const T> bias, float epsilon, View<T> y) {
  const int r = static_cast<int>(blockIdx.x), step = static_cast<int>(blockDim.x);
  const int begin = static_cast<int>(threadIdx.x), n = x.cols;
  const T* in = x.row(r);
  float total = 0;
  for (int c = begin; c < n; c += step) total += to_float(in[c]);
  const float mean = block_sum(total) / static_cast<float>(n);
  float squares = 0;
  for (int c = begin; c < n; c += step) squares += (to_float(in[c]) - mean) * (to_float(in[c]) - mean);
  const float scale = 1 / sqrtf(block_sum(squares) / static_cast<float>(n) + epsilon);
  for (int c = begin; c < n; c += step)
    y.row(r)[c] = from_float<T>((to_float(in[c]) - mean) * scale * to_float(w.data[c]) + to_float(bias.data[c]));
}

}  // namespace

template <class T>
void rms_norm(View<const T> x, View<const T> w, int width, float epsilon, View<T> y, cudaStream_t s) {
  launch(rms_norm_kernel<T>, grid_of(x.rows, x.cols / width), dim3(static_cast<unsigned>(threads_for(width))), 0, s, x,
         View<const T>{}, View<T>{}, w, width, epsilon, y);
}
template <class T>
void add_rms_norm(View<const T> h, View<const T> delta, View<const T> w, float epsilon, View<T> sum, View<T> y,
                  cudaStream_t s) {
  launch(rms_norm_kernel<T>, grid_of(h.rows), dim3(static_cast<unsigned>(threads_for(h.cols))), 0, s, h, delta, sum, w,
         h.cols, epsilon, y);
}
template <class T>
void layer_norm(View<const T> x, View<const T> w, View<const T> bias, float epsilon, View<T> y, cudaStream_t s) {
  launch(layer_norm_kernel<T>, grid_of(x.rows), dim3(static_cast<unsigned>(threads_for(x.cols))), 0, s, x, w, bias,
         epsilon, y);
}

#define FOR_FORMAT(T)                                                                                             \
  template void rms_norm(View<const T>, View<const T>, int, float, View<T>, cudaStream_t);                        \
  template void add_rms_norm(View<const T>, View<const T>, View<const T>, float, View<T>, View<T>, cudaStream_t); \
  template void layer_norm(View<const T>, View<const T>, View<const T>, float, View<T>, cudaStream_t)
FOR_FORMAT(float);
FOR_FORMAT(bf16);

}  // namespace draftline::cuda
