// SPDX-License-Identifier: Apache-2.0
// The order of logits as whole numbers that compare as the floats do, and reading rows 16 bytes at a time.
#pragma once
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

// A number that is larger the larger the float is; -0 counts as 0.
__device__ inline unsigned order_of(float v) {
  const unsigned bits = __float_as_uint(v + 0.0F);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float value_of(unsigned order) {
  return __uint_as_float(order >> 31 != 0 ? order & 0x7fffffffU : ~order);
}

// A logit and its id in one number: a better logit gives a larger one, and of equal logits the lower id. 0: no logit.
using Ranked = unsigned long long;
__device__ inline Ranked ranked(float v, int id) { return Ranked{order_of(v)} << 32 | (0xffffffffU - id); }
__device__ inline int id_of(Ranked r) { return 0xffffffffU - static_cast<unsigned>(r); }
__device__ inline float logit_of(Ranked r) { return value_of(static_cast<unsigned>(r >> 32)); }

// Calls f(i, x[i]) for this thread's share of [begin, end); the share is the same in every call.
template <class T, class F>
__device__ void each_of_mine(const T* x, int begin, int end, int thread, int threads, F f) {
  constexpr int per = sizeof(uint4) / sizeof(T);
  const auto misplaced = static_cast<int>(reinterpret_cast<std::uintptr_t>(x + begin) % sizeof(uint4) / sizeof(T));
  const int head = min(end, begin + (per - misplaced) % per), chunks = (end - head) / per;
  for (int i = begin + thread; i < head; i += threads) f(i, to_float(x[i]));
#pragma unroll 4
  for (int c = thread; c < chunks; c += threads) {
    union {
      uint4 whole;
      T part[per];
    } chunk = {*reinterpret_cast<const uint4*>(x + head + c * per)};
#pragma unroll
    for (int j = 0; j < per; ++j) f(head + c * per + j, to_float(chunk.part[j]));
  }
  for (int i = head + chunks * per + thread; i < end; i += threads) f(i, to_float(x[i]));
}

inline constexpr int kEight = 8;
// Elements `first` to `first` + 7 of a row of n; behind its end, or without a row, 0. All are requested before the
// first is used: one load of 16 bytes, or two, where they lie so.
template <class T>
struct Eight {
  static constexpr int kLoads = kEight * sizeof(T) / sizeof(uint4);
  union {
    uint4 whole[kLoads];
    T part[kEight];
  };
  __device__ Eight(const T* row, int first, int n) {
    const T* x = row + first;
    if (row != nullptr && first + kEight <= n && reinterpret_cast<std::uintptr_t>(x) % sizeof(uint4) == 0) {
#pragma unroll
      for (int l = 0; l < kLoads; ++l) whole[l] = reinterpret_cast<const uint4*>(x)[l];
    } else {
#pragma unroll
      for (int j = 0; j < kEight; ++j) part[j] = row != nullptr && first + j < n ? x[j] : from_float<T>(0);
    }
  }
  __device__ float at(int j) const { return to_float(part[j]); }
};

// Calls f(i, values of the rows at i...) for this thread's share of [0, n), by the whole block. Twice eight elements of
// each row are requested together. Shares and their order depend on n and the number of threads alone, so that sums
// have the same bits wherever rows lie.
template <class T>
struct TwoEights {
  Eight<T> near, far;
};
template <class F, class... T>
__device__ void each_of_rows(int n, F f, const T*... rows) {
  const int stride = kEight * threads_x();
  const auto use = [&](int first, const auto&... eight) {
#pragma unroll
    for (int j = 0; j < kEight; ++j)
      if (first + j < n) f(first + j, eight.at(j)...);
  };
  for (int first = kEight * thread_x(); first < n; first += 2 * stride) {
    const auto use_two = [&](const auto&... two) {
      use(first, two.near...);
      use(first + stride, two.far...);
    };
    use_two(TwoEights<T>{{rows, first, n}, {rows, first + stride, n}}...);
  }
}

}  // namespace draftline::cuda
