// SPDX-License-Identifier: Apache-2.0
// The ops of gated delta networks.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Normalises each group of `width` columns and multiplies by silu(gate): [n, c] each; w [1, width].
struct GatedRmsNorm {
  static constexpr std::string_view key = "gated_rms_norm";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor x, gate;
  Weight w;
  int width;
  float epsilon;
  Out y;
  FIELDS(x, gate, w, width, epsilon, y)
};
// silu of each column's sum over the last rows of its sequence, weighted by w [kernel, c], the oldest first: [n, c] ->
// [n, c]
struct Convolve {
  static constexpr std::string_view key = "causal_convolution";
  Tensor x;
  Weight w;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(x, w, pass, cache, layer, y)
  Kernel work(const Tape&) const;
};
// The gated delta rule: qkv [n, convolved columns], whose queries and keys are normalised first; gates [n, 2 heads]: b,
// then a, where beta = sigmoid(b) and the decay is exp(-exp(a_log) softplus(a + dt_bias)) -> [n, value columns]
struct GatedDeltaRule {
  static constexpr std::string_view key = "delta_rule";
  Tensor qkv, gates;
  Weight a_log, dt_bias;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(qkv, gates, a_log, dt_bias, pass, cache, layer, y)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
