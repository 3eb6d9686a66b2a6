// SPDX-License-Identifier: Apache-2.0
// The op of a layer of experts: router, choice, the experts' products and their sum.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// How a router chooses and weighs a token's experts. Members have the meaning of those of the same name in Experts.
struct ExpertChoice {
  int experts = 0, per_token = 0;
  bool normalise = true;
  Experts::Score score = Experts::Score::softmax;
  int groups = 1, groups_per_token = 1;
  double scale = 1;
  bool weighs_inputs = false;
};
// gate_up [experts * c, 2f], or f columns without a gate; down [experts * f, c]. Optional biases: of the choice and of
// the router [1, experts], of the experts' matrices [experts, 2f] and [experts, c].
struct ExpertWeights {
  Weight router, gate_up, down;
  std::optional<Weight> choice_bias = {}, router_bias = {}, gate_up_bias = {}, down_bias = {};
  std::optional<Weight> expert_scale = {};  // [1, experts]: a factor on each expert's weight
};
struct MixtureOfExperts {  // [n, c] -> [n, c]
  static constexpr std::string_view key = "expert_mlp";
  Tensor x;
  std::optional<Tensor> routed;  // the router's input, of its own columns; none: x
  ExpertWeights w;
  ExpertChoice choice;
  MlpKind gate;
  int sequences;        // number of sequences of the rows; 0: unknown
  RowRouting routing;   // affects the op's cost, not its result
  int devices;          // number of devices; each has whole experts
  double balancedness;  // of rows over devices (model/work.h)
  int ranks;            // devices that share the columns of each expert
  bool router_fp32;     // the router multiplies in 32 bits: affects the op's cost, not its result
  Out y;
  FIELDS(x, routed, w, choice, gate, sequences, routing, devices, balancedness, ranks, router_fp32, y)
  Kernel work(const Tape&) const;
};
// g sigmoid(slope g) (u + 1), g being at most `limit` and u within +-limit (gpt-oss model card, 2025, section 2.2).
inline constexpr struct { float slope = 1.702F, limit = 7; } kClampedSwiglu;

}  // namespace draftline
