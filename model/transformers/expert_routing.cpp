// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/expert_routing.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"

namespace draftline {

RowRouting ExpertRouting::of_pass(double rows) const {
  if (exponents.empty()) return {1, load_cv};
  const auto above = std::ranges::upper_bound(exponents, rows, {}, &Exponent::rows);
  if (above == exponents.begin()) return {above->exponent, load_cv};
  const Exponent& low = above[-1];
  if (above == exponents.end()) return {low.exponent, load_cv};
  const double share = std::log(rows / low.rows) / std::log(1.0 * above->rows / low.rows);
  return {std::lerp(low.exponent, above->exponent, share), load_cv};
}

double exponent_of_overlap(double overlap) { return std::log2(2 - overlap); }

// An expert of popularity p, with mean 1, is missed by n draws of k/E each with exp(-n x p). With gamma-distributed p
// of variance v the mean of that is (1 + v n x)^(-1/v), where x is such that one draw touches k of E.
static double draw_weight(const RouterShape& r, double variance) {
  const double missed = std::log1p(-1.0 * r.per_token / r.experts);
  return variance > 0 ? std::expm1(-variance * missed) : -missed;
}

double experts_of_draws(double draws, const RouterShape& r, double load_cv) {
  if (draws <= 0) return 0;
  const double variance = load_cv * load_cv, x = draws * draw_weight(r, variance);
  return -r.experts * std::expm1(variance > 0 ? -std::log1p(x) / variance : -x);
}

std::optional<double> draws_of_experts(double touched, const RouterShape& r, double load_cv) {
  if (touched < r.per_token || touched >= r.experts || r.per_token >= r.experts) return std::nullopt;
  const double variance = load_cv * load_cv, missed = std::log1p(-touched / r.experts);
  return (variance > 0 ? std::expm1(-variance * missed) : -missed) / draw_weight(r, variance);
}

std::optional<double> exponent_of_count(double touched, double rows, double sequences, const RouterShape& r,
                                        double load_cv) {
  check(rows > sequences, "one row of each sequence says nothing of how alike its rows choose");
  const auto draws = draws_of_experts(touched, r, load_cv);
  if (!draws) return std::nullopt;
  return std::clamp(std::log(*draws / sequences) / std::log(rows / sequences), 0.0, 1.0);
}

}  // namespace draftline
