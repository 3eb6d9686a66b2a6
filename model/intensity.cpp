// SPDX-License-Identifier: Apache-2.0
#include "model/intensity.h"

#include <cmath>

#include "core/errors.h"

namespace draftline {

int draft_budget(double redundancy, int batch_size) {
  check(batch_size > 0, "a batch has at least one sequence");
  return static_cast<int>(std::floor(redundancy / batch_size));
}

double compute_factor(const DraftParameters& m, int positions, double target_parameters) {
  return 1 + m.read(positions) / target_parameters;
}

FlopsPerByte effective_intensity(double acceptance_length, double compute_factor, FlopsPerByte model) {
  return acceptance_length / compute_factor * model;
}

double draft_efficiency(double acceptance_length, int positions, int draft_tokens) {
  return draft_tokens == 0 ? acceptance_length : acceptance_length * positions / draft_tokens;
}

double step_cost_ratio(double draft_efficiency, double speedup) { return draft_efficiency / speedup; }

namespace draft_parameters {
namespace {

double square(const TransformerShape& s) { return 1.0 * s.hidden * s.hidden; }                    // d^2
double attention_of(const TransformerShape& s) { return attention_parameters(s.usual_layer()); }  // A
double layer_of(const TransformerShape& s) { return layer_parameters(s.usual_layer()); }          // Y

}  // namespace

DraftParameters autoregressive() { return {}; }

DraftParameters draft_model(const TransformerShape& draft) { return {0, active_parameters(draft)}; }

DraftParameters medusa(const TransformerShape& s) { return {0, square(s) + s.hidden + head_parameters(s)}; }

DraftParameters mtp_heads(const TransformerShape& s) { return {head_parameters(s), layer_of(s)}; }

DraftParameters mtp_sequential(const TransformerShape& s) {
  return {0, 2 * square(s) + layer_of(s) + head_parameters(s)};
}

DraftParameters eagle1(const TransformerShape& s) {
  return {0, 2 * square(s) + s.hidden + layer_of(s) + head_parameters(s)};
}

DraftParameters eagle3(const TransformerShape& s, int draft_vocabulary) {
  const AttentionHeads h = s.usual_heads();
  const double wider = 1.0 * s.hidden * h.projected_columns();  // q, k, v read 2 d columns
  return {3 * square(s), layer_of(s) + wider + 1.0 * s.hidden * draft_vocabulary};
}

DraftParameters hydra(const TransformerShape& s, int heads) {
  // mean over i = 0 .. heads - 1 of 2 (i + 2) + 1 is heads + 4
  return {0, (heads + 4) * square(s) + head_parameters(s)};
}

DraftParameters hydra_plus(const TransformerShape& s, int heads) { return {layer_of(s), hydra(s, heads).per_position}; }

DraftParameters clover(const TransformerShape& s) { return {layer_of(s) + head_parameters(s), 4 * square(s)}; }

DraftParameters specformer(const TransformerShape& s, bool with_head) {
  return {4 * square(s) + attention_of(s) + layer_of(s) + (with_head ? head_parameters(s) : 0), square(s) + s.hidden};
}

DraftParameters s3d(const TransformerShape& s, double layer_ratio) { return {layer_ratio * active_parameters(s), 0}; }

DraftParameters self_spec(const TransformerShape& s, double layer_ratio) {
  return {0, layer_ratio * active_parameters(s)};
}

DraftParameters layerskip(const TransformerShape& s, int exit_layer) {
  return {0, exit_layer * layer_of(s) + head_parameters(s)};
}

DraftParameters kangaroo(const TransformerShape& s, int exit_layer) {
  return {0, exit_layer * layer_of(s) + attention_of(s) + head_parameters(s)};
}

DraftParameters space() { return {}; }

}  // namespace draft_parameters
}  // namespace draftline
