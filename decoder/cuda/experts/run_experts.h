// SPDX-License-Identifier: Apache-2.0
// Runs a layer of experts.
#pragma once
#include "decoder/cuda/experts/experts.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

inline ExpertShape shape_of(const MixtureOfExperts& o) {
  return {.rows = o.x.rows,
          .hidden = o.x.cols,
          .inner = o.w.gate_up.out / 2,
          .experts = o.choice.experts,
          .per_token = o.choice.per_token,
          .normalise = o.choice.normalise || o.choice.score == Experts::Score::softmax_of_chosen,
          .sigmoid = o.choice.score == Experts::Score::sigmoid,
          .groups = o.choice.groups,
          .groups_per_token = o.choice.groups_per_token,
          .scale = static_cast<float>(o.choice.scale),
          .weighs_inputs = o.choice.weighs_inputs,
          .gate = o.gate};
}

template <class T>
void run_op(const OnDevice<T>& d, const MixtureOfExperts& o) {
  const ExpertPointers<T> w{.router = d.data(o.w.router),
                            .gate_up = d.data(o.w.gate_up),
                            .down = d.data(o.w.down),
                            .choice_bias = d.data(o.w.choice_bias),
                            .router_bias = d.data(o.w.router_bias),
                            .gate_up_bias = d.data(o.w.gate_up_bias),
                            .down_bias = d.data(o.w.down_bias),
                            .expert_scale = d.data(o.w.expert_scale)};
  mixture_of_experts<T>({d.in(o.x), d.in(o.routed.value_or(o.x)), w, d.out(o.y)}, shape_of(o), d.scratch(), d.stream);
}
template <class T>
int launches_of(const OnDevice<T>&, const MixtureOfExperts&) {
  return kExpertLaunches;
}
template <class T>
std::size_t scratch_of(const OnDevice<T>&, const MixtureOfExperts& o) {
  return expert_scratch<T>(shape_of(o));
}

}  // namespace draftline::cuda
