// SPDX-License-Identifier: Apache-2.0
// Runs gated delta networks.
#pragma once
#include "decoder/cuda/recurrence/delta_net.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class T>
void run_op(const OnDevice<T>& d, const GatedRmsNorm& o) {
  gated_rms_norm<T>({d.in(o.x), d.in(o.gate), d.data(o.w), o.width, o.epsilon, d.out(o.y)}, d.stream);
}

// Calls f with the states of an op's layer in their own format: 16 bits only where activations have them too.
template <class T, class O, class F>
void with_states(const OnDevice<T>& d, const O& o, F f) {
  const bool prompts = d.pass(o.pass).rows.prompts;
  if (o.cache.net.state == DType::fp32)
    f(LayerStates<T, float>{d.view(o.pass), prompts, d.s.template view<T, float>(o.cache), o.layer});
  else f(LayerStates<T, T>{d.view(o.pass), prompts, d.s.template view<T, T>(o.cache), o.layer});
}
template <class T>
void run_op(const OnDevice<T>& d, const Convolve& o) {
  with_states(d, o, [&](const auto& states) { convolve(d.in(o.x), d.weight(o.w), states, d.out(o.y), d.stream); });
}
template <class T>
void run_op(const OnDevice<T>& d, const GatedDeltaRule& o) {
  const DeltaRuleView<T> rule{d.in(o.qkv), d.in(o.gates), d.data(o.a_log), d.data(o.dt_bias), d.out(o.y)};
  with_states(d, o, [&](const auto& states) { gated_delta_rule(rule, states, d.stream); });
}

}  // namespace draftline::cuda
