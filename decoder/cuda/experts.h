// SPDX-License-Identifier: Apache-2.0
// A mixture of experts, plainly: every row goes through its experts by itself. Three launches. Right, not fast: a weight is
// read again for each row that wants it.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/view.h"

namespace draftline::cuda {

struct ExpertShape {
  int rows, hidden, inner, experts, per_token;
  bool normalise;
};
inline constexpr int kExpertLaunches = 3;
std::size_t expert_scratch(const ExpertShape&);
// router [hidden, experts], gate_up [experts * hidden, 2 inner], down [experts * inner, hidden]
template <class T>
void mixture_of_experts(const ExpertShape&, View<const T> x, const T* router, const T* gate_up, const T* down,
                        const Scratch&, View<T> y, cudaStream_t);

}  // namespace draftline::cuda
