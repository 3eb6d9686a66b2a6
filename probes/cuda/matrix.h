// SPDX-License-Identifier: Apache-2.0
// Matrices of CUDA probes in device memory, and their comparison with plain double arithmetic on the host.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/device.h"
#include "probes/probe_data.h"

namespace draftline {

using cuda::bf16;
using cuda::Buffer;
using cuda::must;
using cuda::Pinned;
using cuda::View;

// The tolerance of results in bf16, relative to their size: 2^-8 for rounding the result, and room for the rounding of
// its terms.
inline constexpr double kTolerance = 1.0 / 64;
inline constexpr const char* kDiffers = "its result differs from the reference";

inline bool close(double ours, double reference, double size) {
  return std::abs(ours - reference) <= kTolerance * size;
}
inline double stored(float v) { return cuda::to_float(cuda::from_float<bf16>(v)); }
inline double noise_at(std::uint64_t i) { return stored(noise(i)); }
inline std::size_t product(int a, int b) { return at(a) * at(b); }

template <class T>
struct Matrix {
  Buffer buffer;
  int rows, cols;
  Matrix(int r, int c) : buffer(std::max<std::size_t>(product(r, c), 1) * sizeof(T)), rows(r), cols(c) {}
  T* data() const { return reinterpret_cast<T*>(buffer.data()); }
  View<T> view() const { return {data(), rows, cols, cols}; }
  View<const T> read() const { return {data(), rows, cols, cols}; }
  std::vector<double> row(int r) const {
    std::vector<T> values(at(cols));
    must(cudaMemcpy(values.data(), view().row(r), values.size() * sizeof(T), cudaMemcpyDeviceToHost), "reading back");
    std::vector<double> result;
    for (const T v : values) {
      if constexpr (std::is_same_v<T, int>) result.push_back(v);
      else result.push_back(cuda::to_float(v));
    }
    return result;
  }
};

inline Matrix<int> uploaded(const std::vector<int>& values, int cols) {
  Matrix<int> m(count(values) / cols, cols);
  must(cudaMemcpy(m.data(), values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice), "copying");
  must(cudaDeviceSynchronize(), "copying");  // cudaMemcpy may return early, and our streams don't wait for it
  return m;
}

}  // namespace draftline
