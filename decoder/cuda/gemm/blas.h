// SPDX-License-Identifier: Apache-2.0
// Matrix products: y [rows, out] = x [rows, in] * w [in, out] (+ bias), accumulated in fp32. For each shape the best
// candidates of cuBLASLt's heuristics, and our own kernel for few rows, are timed once with weights that are not in L2;
// all later calls, captured or not, use the fastest. What was chosen in an earlier run is not timed again
// (product_choices.h).
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
  // first: uses the heuristics' first choice and times nothing, so that two processes get the same bits.
  enum class Choice { timed, first };
  // `kept`: the choices of earlier runs, to which those of this run are added. `device`: names this device in them.
  explicit Blas(cudaStream_t, Choice = Choice::timed, std::shared_ptr<ProductChoices> kept = {},
                const std::string& device = {});
  ~Blas();
  // Chooses the algorithm, if it is not chosen yet. It waits, allocates and overwrites y, so it must not be called
  // while capturing.
  void prepare(const GemmShape&, const GemmOperands&);
  void run(const GemmShape&, const GemmOperands&);
  // Kernels that one run launches, counted when the algorithm was chosen: 2 if a split-K sum is added by a second
  // kernel.
  int launches(const GemmShape&, const GemmOperands&) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline::cuda
