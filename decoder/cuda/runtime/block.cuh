// SPDX-License-Identifier: Apache-2.0
// Cooperation of the threads of a block: reductions in a fixed order, so that results are reproducible bit for bit, and
// finding out which of a group of blocks finishes last.
#pragma once
#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

inline constexpr unsigned kWarp = 0xffffffffU;

__device__ inline int lane_of() { return thread_x() % 32; }
__device__ inline int warp_of() { return thread_x() / 32; }

// Whether a bit is set in words of 32.
__device__ inline bool has_bit(const int* words, int bit) { return (words[bit / 32] >> bit % 32 & 1) != 0; }

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Largest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, class Join>
__device__ T warp_reduce(T v, Join join) {
  for (int with = 16; with > 0; with /= 2) v = join(v, __shfl_xor_sync(kWarp, v, with));
  return v;
}

// Reduces a value over the block; every thread gets the result. All `threads` of the block must call it. 0: as many as
// were launched.
template <int threads = 0, class T, class Join>
__device__ T block_reduce(T v, Join join) {
  constexpr int kMostWarps = 32;
  const int warps = (threads > 0 ? threads : threads_x()) / 32;
  __shared__ T of_warp[kMostWarps];
  v = warp_reduce(v, join);
  if (lane_of() == 0) of_warp[warp_of()] = v;
  __syncthreads();
  T all = of_warp[0];
  for (int w = 1; w < warps; ++w) all = join(all, of_warp[w]);
  __syncthreads();  // the next call overwrites of_warp
  return all;
}

inline unsigned* counters_of(const Scratch& s) { return reinterpret_cast<unsigned*>(s.data); }
template <class T>
T* behind_counters(const Scratch& s) {
  return reinterpret_cast<T*>(s.data + kCounterBytes);
}

// True in every thread of the block that is the last of `blocks` to call it. That block sees what the others wrote
// before.
__device__ inline bool last_to_finish(unsigned* counter, int blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1U) + 1 == static_cast<unsigned>(blocks);
    if (last) *counter = 0;
  }
  __syncthreads();
  const bool mine = last;
  __threadfence();
  return mine;
}

}  // namespace draftline::cuda
