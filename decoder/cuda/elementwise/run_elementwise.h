// SPDX-License-Identifier: Apache-2.0
// Runs embeddings, norms and elementwise ops.
#pragma once
#include "decoder/cuda/elementwise/elementwise.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class T>
void run_op(const OnDevice<T>& d, const Embed& o) {
  embed(d.weight(o.table), d.ids(o.ids), o.scale, d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const RmsNorm& o) {
  rms_norm(d.in(o.x), o.w ? d.weight(*o.w) : View<const T>{}, o.width, o.epsilon, d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const AddRmsNorm& o) {
  add_rms_norm<T>({.h = d.in(o.h),
                   .delta = d.in(o.delta),
                   .w = d.weight(o.w),
                   .epsilon = o.epsilon,
                   .sum = d.out(o.sum),
                   .y = d.out(o.y)},
                  d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const LayerNorm& o) {
  layer_norm(d.in(o.x), d.weight(o.w), d.weight(o.bias), o.epsilon, d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const Add& o) {
  add(d.in(o.a), d.in(o.b), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SiluMul& o) {
  silu_mul(d.in(o.gate_up), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const GeluMul& o) {
  gelu_mul(d.in(o.gate_up), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SiluAdd& o) {
  silu_add(d.in(o.a), d.in(o.b), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const Gelu& o) {
  gelu(d.in(o.x), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const CosineGate& o) {
  cosine_gate(d.in(o.q), d.in(o.k), d.in(o.v), o.head_dim, d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const GroupedConv& o) {
  grouped_conv(d.in(o.x), d.in(o.delta), d.weight(o.base), o.block, d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SigmoidMul& o) {
  sigmoid_mul(d.in(o.x), d.in(o.gate), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const AddScaled& o) {
  add_scaled(d.in(o.a), d.in(o.b), d.data(o.scale), d.out(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SoftCap& o) {
  soft_cap(d.in(o.x), o.cap, d.out(o.y), d.stream);
}

}  // namespace draftline::cuda
