// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt: y [rows, out] = x [rows, in] * w [in, out] (+ bias), accumulated in fp32. For each shape the
// heuristics' best algorithms are timed once, and the fastest is kept: every later call, captured or not, is the same.
#pragma once
#include <cuda_runtime_api.h>

#include <compare>
#include <memory>

namespace draftline::cuda {

struct GemmShape {
  int rows, in, out, x_stride, y_stride;
  bool bf16, bias;
  auto operator<=>(const GemmShape&) const = default;
};
struct GemmOperands {
  const void *x, *w, *bias;
  void* y;
};

class Blas {
 public:
  explicit Blas(cudaStream_t);
  ~Blas();
  // Chooses the algorithm, if it is not chosen yet: waits, allocates and overwrites y, so never while capturing.
  void prepare(const GemmShape&, const GemmOperands&);
  void run(const GemmShape&, const GemmOperands&);
  // Kernels that one run launches, as counted when the algorithm was chosen: 2 where it is split and joined.
  int launches(const GemmShape&, const GemmOperands&) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline::cuda
