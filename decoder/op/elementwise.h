// SPDX-License-Identifier: Apache-2.0
// Norms, gates and other elementwise ops. Each reads and writes its operands once.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

struct RmsNorm {  // normalises each group of `width` columns: [n, c] -> [n, c]; w [1, c] or [1, width], or ones
  static constexpr std::string_view key = "rms_norm";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor x;
  std::optional<Weight> w;
  int width;
  float epsilon;
  Out y;
  FIELDS(x, w, width, epsilon, y)
};
struct AddRmsNorm {  // sum = h + delta; y = norm(sum): [n, c] each
  static constexpr std::string_view key = "add_rms_norm";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor h, delta;
  Weight w;
  float epsilon;
  Out sum, y;
  FIELDS(h, delta, w, epsilon, sum, y)
};
struct LayerNorm {  // [n, c] -> [n, c]
  static constexpr std::string_view key = "layer_norm";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor x;
  Weight w, bias;
  float epsilon;
  Out y;
  FIELDS(x, w, bias, epsilon, y)
};
struct Add {
  static constexpr std::string_view key = "add";
  Tensor a, b;
  Out y;
  FIELDS(a, b, y)
};
struct SiluMul {  // [n, 2f] -> [n, f]: silu(left half) * right half
  static constexpr std::string_view key = "silu_mul";
  static constexpr auto element = ElementOp::silu_mul;
  static constexpr double element_share = 0.5;  // only the gate is exponentiated
  Tensor gate_up;
  Out y;
  FIELDS(gate_up, y)
};
struct GeluMul {  // [n, 2f] -> [n, f]: gelu(left half), by the tanh formula, * right half; in engines like SiluMul
  static constexpr std::string_view key = "silu_mul";
  static constexpr auto element = ElementOp::silu_mul;
  static constexpr double element_share = 0.5;  // only the gate is exponentiated
  Tensor gate_up;
  Out y;
  FIELDS(gate_up, y)
};
struct SiluAdd {  // a + silu(b): [n, c] each
  static constexpr std::string_view key = "silu_add";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor a, b;
  Out y;
  FIELDS(a, b, y)
};
struct Gelu {  // [n, c] -> [n, c]
  static constexpr std::string_view key = "gelu";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor x;
  Out y;
  FIELDS(x, y)
};
struct SquaredRelu {  // max(x, 0)^2: [n, c] -> [n, c]
  static constexpr std::string_view key = "squared_relu";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor x;
  Out y;
  FIELDS(x, y)
};
struct CosineGate {  // multiplies each head of v by the cosine of the heads of q and k: [n, heads * dim] each
  static constexpr std::string_view key = "cosine_gate";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor q, k, v;
  int head_dim;
  Out y;
  FIELDS(q, k, v, head_dim, y)
};
struct SigmoidMul {  // [n, c] by the sigmoid of a gate [n, c], or [n, 1] for all columns -> [n, c]
  static constexpr std::string_view key = "sigmoid_mul";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor x, gate;
  Out y;
  FIELDS(x, gate, y)
};
struct AddScaled {  // (a + b) * scale: [n, c] each; scale [1, 1] -> [n, c]
  static constexpr std::string_view key = "add_scaled";
  Tensor a, b;
  Weight scale;
  Out y;
  FIELDS(a, b, scale, y)
};
struct SoftCap {  // cap * tanh(x / cap): [n, c] -> [n, c]
  static constexpr std::string_view key = "soft_cap";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor x;
  float cap;
  Out y;
  FIELDS(x, cap, y)
};
// The next state of a GRU, as in PyTorch: n + z (state - n), where r = sigmoid(input + gates), z likewise, and n =
// tanh(input + r gates), of the first, second and last columns. input and gates [n, 3c], the products of the input and
// of the state; state [n, c]; no gates and state: zeros -> [n, c].
struct GruCell {
  static constexpr std::string_view key = "gru_cell";
  static constexpr auto element = ElementOp::silu_mul;
  Tensor input;
  std::optional<Tensor> gates, state;
  Out y;
  FIELDS(input, gates, state, y)
};
// y[i, c] = sum over taps t of (base[t, c] + delta[i, t, group of c]) * x[i - t, c], within blocks of `block` rows: a
// depthwise convolution whose kernel depends on the row. x [n, c]; base [taps, c]; delta [n, taps * groups].
struct GroupedConv {
  static constexpr std::string_view key = "grouped_conv";
  Tensor x, delta;
  Weight base;
  int block;
  Out y;
  FIELDS(x, delta, base, block, y)
};

}  // namespace draftline
