// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in three launches: routing (expert_lists.cuh), then two grouped GEMMs over the activated experts
// (expert_products.cuh), of which the second sums the experts of each row. An expert's weights are read once for each
// group of up to 64 of its rows. A row's result does not depend on other rows, bit for bit.
#pragma once
#include "decoder/cuda/runtime/view.h"
#include "model/transformers/transformer_shape.h"

namespace draftline::cuda {

// The fields from `sigmoid` on are those of ExpertChoice, and of MixtureOfExperts, in decoder/op/experts.h.
struct ExpertShape {
  int rows, hidden, inner, experts, per_token;
  bool normalise;        // the weights of a row's experts sum to `scale`
  bool sigmoid = false;  // scores: of each expert by itself; else their softmax
  int groups = 1, groups_per_token = 1;
  float scale = 1;
  bool weighs_inputs = false;
  MlpKind gate = MlpKind::gated_silu;
};
inline constexpr int kMostGroups = 32;  // of experts

// router [hidden, experts], gate_up [experts * hidden, 2 inner], down [experts * inner, hidden]. Biases may be null: of
// the choice and of the router [experts], of each expert's matrices [experts, 2 inner] and [experts, hidden].
template <class T>
struct ExpertPointers {
  const T *router, *gate_up, *down;
  const T *choice_bias = nullptr, *router_bias = nullptr, *gate_up_bias = nullptr, *down_bias = nullptr;
  const T* expert_scale = nullptr;  // [experts]: factors of the weights
};
inline constexpr int kExpertLaunches = 3;

// How the GEMMs are cut: groups of `group_rows` rows of an expert, at most `most_groups` of them whatever the router
// chooses, and CTAs of `columns` columns of its weights.
struct ExpertPlan {
  bool tensor_cores;
  int group_rows, columns, most_groups;
};
template <class T>
ExpertPlan plan_experts(const ExpertShape&);

// Bytes of scratch memory, of which the first kCounterBytes are zero before the first use.
template <class T>
std::size_t expert_scratch(const ExpertShape&);

}  // namespace draftline::cuda
