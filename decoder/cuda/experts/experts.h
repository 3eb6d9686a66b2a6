// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in three launches: who goes where (expert_lists.cuh), then two grouped products over the experts that
// were chosen (expert_products.cuh), the second of which sums each row's experts. An expert's weights are read once for each
// group of up to 64 of its rows. What a row becomes depends on no other row, to the bit.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

struct ExpertShape {
  int rows, hidden, inner, experts, per_token;
  bool normalise;
};
inline constexpr int kExpertLaunches = 3;

// How the products are cut up: groups of `group_rows` rows of an expert, at most `most_groups` of them however rows choose,
// and blocks of `columns` columns of its weights.
struct ExpertPlan {
  bool tensor_cores;
  int group_rows, columns, most_groups;
};
template <class T>
ExpertPlan plan_experts(const ExpertShape&);

template <class T>
std::size_t expert_scratch(const ExpertShape&);
// router [hidden, experts], gate_up [experts * hidden, 2 inner], down [experts * inner, hidden]. Scratch: its first
// kCounterBytes are zero before the first use.
template <class T>
void mixture_of_experts(const ExpertShape&, View<const T> x, const T* router, const T* gate_up, const T* down,
                        const Scratch&, View<T> y, cudaStream_t);

}  // namespace draftline::cuda
