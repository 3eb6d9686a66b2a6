// SPDX-License-Identifier: Apache-2.0
// Matrix products: y [rows, out] = x [rows, in] * w [in, out] (+ bias), accumulated in fp32. For each shape the best of
// cuBLASLt's heuristics, and for a few rows our own kernel, are timed once with weights that L2 doesn't hold, and the fastest
// is kept: every later call, captured or not, is the same. Nor is one timed that was chosen before (product_choices.h).
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "decoder/cuda/gemm/product_choices.h"

namespace draftline::cuda {

struct GemmOperands {
  const void *x, *w, *bias;
  void* y;
};

class Blas {
 public:
  // first: the heuristics' first choice. Nothing is timed, so that two processes get the same bits.
  enum class Choice { timed, first };
  // `kept`: what was chosen on that device before, and now; null: nothing is.
  explicit Blas(cudaStream_t, Choice = Choice::timed, std::shared_ptr<ProductChoices> kept = {},
                const std::string& device = {});
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
