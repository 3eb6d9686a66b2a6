// SPDX-License-Identifier: Apache-2.0
// Runs matrix products.
#pragma once
#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/gemm/head_products.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

struct Product {
  GemmShape shape;
  GemmOperands operands;
};
template <class T>
Product product(const OnDevice<T>& d, const Linear& o) {
  return {.shape = {.rows = o.x.rows,
                    .in = o.w.in,
                    .out = o.w.out,
                    .x_stride = o.x.stride,
                    .y_stride = o.y.stride,
                    .bf16 = sizeof(T) == 2,
                    .bias = o.bias.has_value()},
          .operands = {.x = d.s.address(o.x), .w = d.s.weight(o.w), .bias = d.data(o.bias), .y = d.s.address(o.y)}};
}
template <class T>
void run_op(const OnDevice<T>& d, const Linear& o) {
  const Product p = product(d, o);
  d.s.blas.run(p.shape, p.operands);
}
template <class T>
int launches_of(const OnDevice<T>& d, const Linear& o) {
  const Product p = product(d, o);
  return d.s.blas.launches(p.shape, p.operands);
}
template <class T>
void run_op(const OnDevice<T>&, const Quantise&) {
  check(false, "the decoder on CUDA computes in 16 or 32 bits");
}

template <class T>
void run_op(const OnDevice<T>& d, const AbsorbQueries& o) {
  const LatentAttention& l = o.dims;
  head_products(HeadProducts<T>{.x = d.in(o.q),
                                .w = d.data(o.kv_b),
                                .y = d.out(o.y),
                                .heads = o.y.cols / l.kv_rank,
                                .in = l.nope_dim,
                                .out = l.kv_rank,
                                .x_apart = l.nope_dim + l.rope_dim,
                                .w_apart = l.nope_dim + l.value_dim,
                                .w_stride = o.kv_b.out,
                                .transposed = true},
                d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const ExpandValues& o) {
  const LatentAttention& l = o.dims;
  head_products(HeadProducts<T>{.x = d.in(o.x),
                                .w = d.data(o.kv_b) + l.nope_dim,
                                .y = d.out(o.y),
                                .heads = o.y.cols / l.value_dim,
                                .in = l.kv_rank,
                                .out = l.value_dim,
                                .x_apart = l.kv_rank,
                                .w_apart = l.nope_dim + l.value_dim,
                                .w_stride = o.kv_b.out,
                                .transposed = false},
                d.stream);
}

}  // namespace draftline::cuda
