// SPDX-License-Identifier: Apache-2.0
// Rows that are read and written 16 bytes at a time.
#pragma once
#include <cstdint>

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

// 16 bytes of a row.
template <class T>
union Chunk {
  static constexpr int kPer = sizeof(uint4) / sizeof(T);
  uint4 whole;
  T part[kPer];
  __device__ static Chunk of(const T* from) { return {*reinterpret_cast<const uint4*>(from)}; }
  __device__ void put(T* to) const { *reinterpret_cast<uint4*>(to) = whole; }
};

// Whether every row of a view begins at a multiple of 16 bytes.
template <class T>
bool in_chunks(const View<T>& v) {
  return reinterpret_cast<std::uintptr_t>(v.data) % sizeof(uint4) == 0 &&
         (v.rows == 1 || at(v.stride) * sizeof(T) % sizeof(uint4) == 0);
}

}  // namespace draftline::cuda
