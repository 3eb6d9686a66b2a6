// SPDX-License-Identifier: Apache-2.0
// Arithmetic intensity and what a drafter adds to it: equations 1 to 5 of SpecFormer (shi2026), in the reading
// that its tables bear out. Symbols: AI_m, AI_c, rho, r1, r2, p, kappa, theta; a = acceptance_length, bonus included.
#pragma once
#include <vector>

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
int draft_budget(double redundancy, int batch_size);

// Draft parameters by how often a step reads them: m_s once, m_p once per drafted position.
struct DraftParameters {
  double shared = 0, per_position = 0;
  double read(int positions) const { return shared + positions * per_position; }
};

// p, eq. 4: computation of a step over that of a plain one.
double compute_factor(const DraftParameters&, int positions, double target_parameters);

// r1 = a / p AI_m, eq. 3.
FlopsPerByte effective_intensity(double acceptance_length, double compute_factor, FlopsPerByte model);

// kappa = a l_d / k, eq. 5; equals a for a chain whose every position is verified.
double draft_efficiency(double acceptance_length, int positions, int draft_tokens);

// theta = kappa / speedup: what a step costs over a plain one, as measured. It plays the role of p.
double step_cost_ratio(double draft_efficiency, double speedup);

// Parameters of the drafters, in the symbols of transformer_shape.h (d = hidden); defaults as in each method's
// repository.
namespace draft_parameters {
DraftParameters autoregressive();
DraftParameters draft_model(const TransformerShape& draft);  // positions: sequential passes
DraftParameters medusa(const TransformerShape&);             // d^2 + d + H a head
DraftParameters mtp_heads(const TransformerShape&);          // a layer a head, one LM head
DraftParameters mtp_sequential(const TransformerShape&);     // 2 d^2 + Y + H a module
DraftParameters eagle1(const TransformerShape&);             // 2 d^2 + d + Y + H a pass; EAGLE-2, HASS too
DraftParameters eagle3(const TransformerShape&,
                       int draft_vocabulary);                    // 3 d^2 once; Y + d (hq + 2 hk) hd + d Vd a pass
DraftParameters hydra(const TransformerShape&, int heads);       // head i: 2 (i + 2) d^2 + d^2 + H, the mean of them
DraftParameters hydra_plus(const TransformerShape&, int heads);  // a prefix layer beside it
DraftParameters clover(const TransformerShape&);                 // Y + H once; 4 d^2 a position
DraftParameters specformer(const TransformerShape&, bool with_head);  // 4 d^2 + 2 A + F (+ H) once; d^2 + d a position
DraftParameters s3d(const TransformerShape&, double layer_ratio);     // beta M once
DraftParameters self_spec(const TransformerShape&, double layer_ratio);  // beta M a pass
DraftParameters layerskip(const TransformerShape&, int exit_layer);      // E layers and the head a pass
DraftParameters kangaroo(const TransformerShape&, int exit_layer);       // E layers, the adapter A and the head a pass
DraftParameters space();                                                 // drafting rides on verification
}  // namespace draft_parameters

}  // namespace draftline
