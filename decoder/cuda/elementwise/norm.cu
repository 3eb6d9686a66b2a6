// SPDX-License-Identifier: Apache-2.0
// Norms: one CTA for each row and group of columns. Sums are made in fp32 in a fixed order, so that a row's bits do not
// depend on other rows. With few rows the latency of loads counts, not their bytes: if rows are aligned, all loads are
// issued at once.
#include "decoder/cuda/elementwise/chunk.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kMostWarps = 32;
// One warp for the columns of a head; for wider rows as many warps as leave about eight values to each thread.
int threads_for(int width) {
  constexpr int kMost = 16;
  const int warps = ceil_div(width, 256);
  return 32 * (warps < kMost ? warps : kMost);
}

// The sum over the block, returned to all of its threads.
__device__ inline float block_sum(float v) {
  __shared__ float partial[kMostWarps];
  const int warps = threads_x() / 32;
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
  const int r = block_x(), first = block_y() * width;
  const int step = threads_x(), begin = first + thread_x(), end = first + width;
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
  const float scale = 1 / sqrtf(block_sum(squares) / to_float(width) + epsilon);
  for (int c = begin; c < end; c += step)
    y.row(r)[c] = from_float<T>(to_float(in[c]) * scale * (w.data == nullptr ? 1 : to_float(w.data[c % w.cols])));
}

constexpr int kHeld = 2, kMostWide = 1024;  // chunks of a thread; threads

// rms_norm_kernel for rows that are read 16 bytes at a time and kept in registers.
template <class T>
__global__ void __launch_bounds__(kMostWide)
    rms_norm_wide_kernel(View<const T> x, View<const T> delta, View<T> sum, View<const T> w, int width, float epsilon,
                         View<T> y) {
  using C = Chunk<T>;
  const int r = block_x(), first = block_y() * width;
  const auto column = [](int i) { return (thread_x() + i * threads_x()) * C::kPer; };
  C held[kHeld], weights[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i)  // no kernel writes weights, so they are read before await_previous()
    if (column(i) < width) weights[i] = C::of(w.data + column(i));
  await_previous();
#pragma unroll
  for (int i = 0; i < kHeld; ++i)
    if (column(i) < width) held[i] = C::of(x.row(r) + first + column(i));
  if (delta.data != nullptr) {
    C more[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (column(i) < width) more[i] = C::of(delta.row(r) + first + column(i));
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (column(i) >= width) continue;
#pragma unroll
      for (int j = 0; j < C::kPer; ++j)
        held[i].part[j] = from_float<T>(to_float(held[i].part[j]) + to_float(more[i].part[j]));
      held[i].put(sum.row(r) + first + column(i));
    }
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i)
    if (column(i) < width)
#pragma unroll
      for (int j = 0; j < C::kPer; ++j) squares += to_float(held[i].part[j]) * to_float(held[i].part[j]);
  const float scale = 1 / sqrtf(block_sum(squares) / to_float(width) + epsilon);
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (column(i) >= width) continue;
#pragma unroll
    for (int j = 0; j < C::kPer; ++j)
      held[i].part[j] = from_float<T>(to_float(held[i].part[j]) * scale * to_float(weights[i].part[j]));
    held[i].put(y.row(r) + first + column(i));
  }
}

template <class T>
__global__ void layer_norm_kernel(View<const T> x, View<const T> w, View<const T> bias, float epsilon, View<T> y) {
  const int r = block_x(), step = threads_x();
  const int begin = thread_x(), n = x.cols;
  const T* in = x.row(r);
  float total = 0;
  for (int c = begin; c < n; c += step) total += to_float(in[c]);
  const float mean = block_sum(total) / to_float(n);
  float squares = 0;
  for (int c = begin; c < n; c += step) squares += (to_float(in[c]) - mean) * (to_float(in[c]) - mean);
  const float scale = 1 / sqrtf(block_sum(squares) / to_float(n) + epsilon);
  for (int c = begin; c < n; c += step)
    y.row(r)[c] = from_float<T>((to_float(in[c]) - mean) * scale * to_float(w.data[c]) + to_float(bias.data[c]));
}

// Of groups of `width` columns of x, or of x + delta, which goes to `sum`.
template <class T>
struct Norm {
  View<const T> x, delta;
  View<T> sum;
  View<const T> w;
  int width;
  float epsilon;
  View<T> y;
  void run(cudaStream_t s) const {
    const dim3 grid = grid_of(x.rows, x.cols / width);
    constexpr int per = Chunk<T>::kPer;
    const bool wide = width % per == 0 && width <= kMostWide * kHeld * per && w.cols == width && in_chunks(x) &&
                      in_chunks(delta) && in_chunks(sum) && in_chunks(w) && in_chunks(y);
    if (!wide)
      return launch(rms_norm_kernel<T>, grid, grid_of(threads_for(width)), 0, s, x, delta, sum, w, width, epsilon, y);
    const int warps = ceil_div(width / per, 32), most = kMostWide / 32;
    launch_overlapping(rms_norm_wide_kernel<T>, grid, grid_of(32 * (warps < most ? warps : most)), 0, s, x, delta, sum,
                       w, width, epsilon, y);
  }
};

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const RmsNorm& o) {
  const View<const T> w = o.w ? d.weight(*o.w) : View<const T>{};
  Norm<T>{d.in(o.x), {}, {}, w, o.width, o.epsilon, d.out(o.y)}.run(d.stream);
}
template <class T>
void run(const OnDevice<T>& d, const AddRmsNorm& o) {
  Norm<T>{d.in(o.h), d.in(o.delta), d.out(o.sum), d.weight(o.w), o.h.cols, o.epsilon, d.out(o.y)}.run(d.stream);
}
template <class T>
void run(const OnDevice<T>& d, const LayerNorm& o) {
  launch(layer_norm_kernel<T>, grid_of(o.x.rows), grid_of(threads_for(o.x.cols)), 0, d.stream, d.in(o.x), d.weight(o.w),
         d.weight(o.bias), o.epsilon, d.out(o.y));
}

FOR_FORMATS(void, run, RmsNorm);
FOR_FORMATS(void, run, AddRmsNorm);
FOR_FORMATS(void, run, LayerNorm);

}  // namespace draftline::cuda
