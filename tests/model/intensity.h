// SPDX-License-Identifier: Apache-2.0
// Arithmetic intensity and what a drafter adds to it: equations 1 to 5 of SpecFormer (shi2026), in the reading
// that its tables bear out. Symbols: AI_m, AI_c, rho, r1, r2, p, kappa, theta; a = acceptance_length, bonus included.
#pragma once
#include <cmath>

#include "core/errors.h"
#include "core/quantity.h"
#include "model/transformers/dtype.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// AI_m, eq. 1: each parameter read is one multiply-add for one token.
constexpr FlopsPerByte model_intensity(DType precision) { return Flops{2} / bytes_of(precision, 1); }

// AI_c, eq. 2: the ridge point of a device.
constexpr FlopsPerByte ridge_point(FlopsPerSecond peak, BytesPerSecond bandwidth) { return peak / bandwidth; }

// rho = AI_c / AI_m: how many tokens share one reading of the weights before arithmetic is the bound.
constexpr double redundancy(FlopsPerByte ridge, FlopsPerByte model) { return ridge / model; }

// r2 = k <= rho / bs, eq. 3: the draft tokens per sequence that fit under the ridge. The root's own row is not in k.
inline int draft_budget(double redundancy, int batch_size) {
  check(batch_size > 0, "a batch has at least one sequence");
  return static_cast<int>(std::floor(redundancy / batch_size));
}

// Draft parameters by how often a step reads them: m_s once, m_p once per drafted position.
struct DraftParameters {
  double shared = 0, per_position = 0;
  double read(int positions) const { return shared + positions * per_position; }
};

// p, eq. 4: computation of a step over that of a plain one.
inline double compute_factor(const DraftParameters& m, int positions, double target_parameters) {
  return 1 + m.read(positions) / target_parameters;
}

// r1 = a / p AI_m, eq. 3.
inline FlopsPerByte effective_intensity(double acceptance_length, double compute_factor, FlopsPerByte model) {
  return acceptance_length / compute_factor * model;
}

// kappa = a l_d / k, eq. 5; equals a for a chain whose every position is verified.
inline double draft_efficiency(double acceptance_length, int positions, int draft_tokens) {
  return draft_tokens == 0 ? acceptance_length : acceptance_length * positions / draft_tokens;
}

// theta = kappa / speedup: what a step costs over a plain one, as measured. It plays the role of p.
inline double step_cost_ratio(double draft_efficiency, double speedup) { return draft_efficiency / speedup; }

// Parameters of the drafters, in the symbols of transformer_shape.h (d = hidden); defaults as in each method's
// repository.
namespace draft_parameters {

inline double square(const TransformerShape& s) { return 1.0 * s.hidden * s.hidden; }                    // d^2
inline double attention_of(const TransformerShape& s) { return attention_parameters(s.usual_layer()); }  // A
inline double layer_of(const TransformerShape& s) { return layer_parameters(s.usual_layer()); }          // Y

inline DraftParameters autoregressive() { return {}; }

// positions: sequential passes
inline DraftParameters draft_model(const TransformerShape& draft) { return {0, active_parameters(draft)}; }

// d^2 + d + H a head
inline DraftParameters medusa(const TransformerShape& s) { return {0, square(s) + s.hidden + head_parameters(s)}; }

// a layer a head, one LM head
inline DraftParameters mtp_heads(const TransformerShape& s) { return {head_parameters(s), layer_of(s)}; }

// 2 d^2 + Y + H a module
inline DraftParameters mtp_sequential(const TransformerShape& s) {
  return {0, 2 * square(s) + layer_of(s) + head_parameters(s)};
}

// 2 d^2 + d + Y + H a pass; EAGLE-2, HASS too
inline DraftParameters eagle1(const TransformerShape& s) {
  return {0, 2 * square(s) + s.hidden + layer_of(s) + head_parameters(s)};
}

// 3 d^2 once; Y + d (hq + 2 hk) hd + d Vd a pass
inline DraftParameters eagle3(const TransformerShape& s, int draft_vocabulary) {
  const AttentionHeads h = s.usual_heads();
  const double wider = 1.0 * s.hidden * h.projected_columns();  // q, k, v read 2 d columns
  return {3 * square(s), layer_of(s) + wider + 1.0 * s.hidden * draft_vocabulary};
}

// head i: 2 (i + 2) d^2 + d^2 + H, the mean of them
inline DraftParameters hydra(const TransformerShape& s, int heads) {
  // mean over i = 0 .. heads - 1 of 2 (i + 2) + 1 is heads + 4
  return {0, (heads + 4) * square(s) + head_parameters(s)};
}

// a prefix layer beside it
inline DraftParameters hydra_plus(const TransformerShape& s, int heads) {
  return {layer_of(s), hydra(s, heads).per_position};
}

// Y + H once; 4 d^2 a position
inline DraftParameters clover(const TransformerShape& s) { return {layer_of(s) + head_parameters(s), 4 * square(s)}; }

// 4 d^2 + 2 A + F (+ H) once; d^2 + d a position
inline DraftParameters specformer(const TransformerShape& s, bool with_head) {
  return {4 * square(s) + attention_of(s) + layer_of(s) + (with_head ? head_parameters(s) : 0), square(s) + s.hidden};
}

// beta M once
inline DraftParameters s3d(const TransformerShape& s, double layer_ratio) {
  return {layer_ratio * active_parameters(s), 0};
}

// beta M a pass
inline DraftParameters self_spec(const TransformerShape& s, double layer_ratio) {
  return {0, layer_ratio * active_parameters(s)};
}

// E layers and the head a pass
inline DraftParameters layerskip(const TransformerShape& s, int exit_layer) {
  return {0, exit_layer * layer_of(s) + head_parameters(s)};
}

// E layers, the adapter A and the head a pass
inline DraftParameters kangaroo(const TransformerShape& s, int exit_layer) {
  return {0, exit_layer * layer_of(s) + attention_of(s) + head_parameters(s)};
}

// drafting rides on verification
inline DraftParameters space() { return {}; }

}  // namespace draft_parameters

}  // namespace draftline
