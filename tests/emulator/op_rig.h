// SPDX-License-Identifier: Apache-2.0
// An op twice: on the CPU backend, which is the specification, and by its CUDA kernel, from the same numbers. Works
// with the emulator and with a device.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "decoder/cpu/backend.h"
#include "decoder/cuda/runtime/device.h"
#include "decoder/ops.h"
#include "decoder/random_weights.h"
#include "probes/cuda/op_runner.h"
#include "tests/catch.h"

namespace draftline::cuda {

template <class T>
float rounded(float v) {
  return to_float(from_float<T>(v));
}

// False where there is none: the tests are then skipped.
inline bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}
#define NEEDS_DEVICE \
  if (!has_device()) SKIP_TEST("no GPU")

// cudaMemset and cudaMemcpy from the host may return before they are done, and our streams don't wait for them.
inline void wait_for_device() { must(cudaDeviceSynchronize(), "waiting for the device"); }

// Numbers on the device; reads beyond them are AddressSanitizer's or compute-sanitizer's to find.
template <class T>
class Array {
 public:
  Array(int rows, int cols) : rows_(rows), cols_(cols), buffer_(sizeof(T) * size()) {
    must(cudaMemset(buffer_.data(), 0xff, buffer_.bytes()), "filling");
    wait_for_device();
  }
  template <class V>
  Array(const std::vector<V>& values, int cols)
      : rows_(static_cast<int>(values.size()) / cols),
        cols_(cols),
        buffer_(sizeof(T) * std::max<std::size_t>(size(), 1)) {
    std::vector<T> to;
    for (const V v : values) {
      if constexpr (std::is_same_v<T, V>) to.push_back(v);
      else to.push_back(from_float<T>(v));
    }
    must(cudaMemcpy(buffer_.data(), to.data(), sizeof(T) * size(), cudaMemcpyHostToDevice), "copying");
    wait_for_device();
  }
  View<T> view() const { return {reinterpret_cast<T*>(buffer_.data()), rows_, cols_, cols_}; }
  View<const T> read() const { return {reinterpret_cast<const T*>(buffer_.data()), rows_, cols_, cols_}; }
  std::vector<T> raw() const {
    std::vector<T> values(size());
    must(cudaMemcpy(values.data(), buffer_.data(), sizeof(T) * size(), cudaMemcpyDeviceToHost), "copying");
    return values;
  }
  std::vector<float> floats() const {
    std::vector<float> values;
    for (const T v : raw()) values.push_back(to_float(v));
    return values;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(cols_); }
  int rows_, cols_;
  Buffer buffer_;
};

struct Workspace {  // zeroed once, as the kernels want it
  explicit Workspace(std::size_t bytes) : buffer(bytes) {
    must(cudaMemset(buffer.data(), 0, bytes), "filling");
    wait_for_device();
  }
  Scratch scratch() const { return {buffer.data(), buffer.bytes()}; }
  Buffer buffer;
};

struct Dice {
  explicit Dice(unsigned seed) : engine(seed) {}
  int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }
  template <class T>
  std::vector<float> normal(std::size_t n, float size = 1) {
    std::normal_distribution<float> d(0, size);
    std::vector<float> values(n);
    for (float& v : values) v = rounded<T>(d(engine));
    return values;
  }
  std::mt19937 engine;
};

// The CPU side: persistent buffers with given values, ops, results.
struct Specification {
  explicit Specification(int slots, std::uint64_t seed = 0)
      : store(DType::fp32),
        weights(1),
        backend(store, weights, {CpuBackend::Mode::planned, seed, true}),
        ops(backend, DType::fp32, slots) {}
  Tensor floats(const std::vector<float>& values, int cols) {
    const Tensor t =
        ops.persistent("f" + std::to_string(++buffers), static_cast<int>(values.size()) / cols, cols, DType::fp32);
    std::vector<int> bits(values.size());
    std::memcpy(bits.data(), values.data(), sizeof(float) * values.size());
    ops.upload(t, bits);
    return t;
  }
  Tensor ints(const std::vector<int>& values, int cols = 1) {
    const Tensor t =
        ops.persistent("i" + std::to_string(++buffers), static_cast<int>(values.size()) / cols, cols, DType::int32);
    ops.upload(t, values);
    return t;
  }
  Tensor keep(const Tensor& t) {
    const Tensor kept = ops.persistent("k" + std::to_string(++buffers), t.rows, t.cols, t.dtype);
    ops.store(kept, t);
    return kept;
  }
  std::vector<float> floats_of(const Tensor& buffer) { return backend.read_floats(buffer); }
  std::vector<int> ints_of(const Tensor& buffer) { return backend.read(buffer); }

  WeightStore store;
  RandomWeights weights;
  CpuBackend backend;
  Ops ops;
  int buffers = 0;
};

// The largest difference, relative to `size` or to the value where that is larger; infinite where one is NaN.
inline double distance(const std::vector<float>& a, const std::vector<float>& b, double size) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double d = std::abs(static_cast<double>(a[i]) - b[i]) / std::max(size, std::abs(static_cast<double>(b[i])));
    worst = std::max(worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

}  // namespace draftline::cuda
