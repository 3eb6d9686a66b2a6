// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/expert_fit.h"

#include <cmath>

#include "core/errors.h"
#include "model/calibration/coefficient_fit.h"
#include "model/devices/device.h"

namespace draftline {
namespace {

ExpertMlp kernel_of(const ExpertPoint& p) {
  return {.rows = p.rows,
          .hidden = p.hidden,
          .intermediate = p.intermediate,
          .experts = p.experts,
          .per_token = p.per_token,
          .weights = p.operands.weights,
          .activations = p.operands.activations,
          .scale_bits = p.operands.scale_bits,
          .scaling = p.operands.scaling};
}

}  // namespace

Seconds predicted(const ExpertFit& f, const Device& d, const ExpertPoint& p) {
  const ExpertMlp k = kernel_of(p);
  const double l2_hit_share = p.state == CacheState::repeated ? expert_l2_hit_share(f, d, k, p.load) : 0;
  return (p.routed ? router_time(d, k) : Seconds{}) + expert_time(f, d, k, p.load, l2_hit_share);
}

Seconds predicted(const Device& d, const ExpertPoint& p) { return predicted(*expert_fit(d, p.operands).fit, d, p); }

Bytes touched_weights(const ExpertPoint& p) {
  return weight_bytes(p.operands.weights, p.load.touched * 3.0 * p.hidden * p.intermediate, p.operands.scale_bits);
}

bool from_memory(const ExpertPoint& p, const Device& d) { return touched_weights(p) > 2 * d.l2; }

void put_experts(Device& d, const Operands& operands, const ExpertFit& fit) {
  if (const auto format = multiplied_in(d, operands)) d.gpu().narrow_experts[*format] = fit;
  else d.gpu().experts = fit;
}

ExpertFit fit_experts(const std::vector<ExpertPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  std::vector<Coefficient> coefficients;
  add_coefficients(coefficients, ExpertFit{}, kHold);
  const FittedValues best =
      fitted(coefficients, {}, std::ssize(points), [&](const std::vector<double>& values, Eigen::VectorXd& errors) {
        const ExpertFit f = fit_of_values<ExpertFit>(values);
        set_log_errors(errors, points, [&](const ExpertPoint& p) { return predicted(f, datasheet, p); });
      });
  if (spread != nullptr) *spread = best.spread;
  return fit_of_values<ExpertFit>(best.values);
}

}  // namespace draftline
