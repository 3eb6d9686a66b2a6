// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/request_acceptance.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"

namespace draftline {

namespace {

// A gamma variate of scale 1 (Marsaglia and Tsang, 2000, "A simple method for generating gamma variables").
double gamma_variate_of(Rng& rng, double shape) {
  if (shape <= 0) return 0;
  if (shape < 1) {
    const double above = gamma_variate_of(rng, shape + 1);
    return above * std::pow(1 - rng.uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - rng.uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

}  // namespace

RequestAcceptance::RequestAcceptance(const LengthDistribution& steps, double intraclass_correlation) {
  check(intraclass_correlation > 0 && intraclass_correlation <= kMostCorrelation, "a correlation of steps");
  const double sum = (1 - intraclass_correlation) / intraclass_correlation;
  double until = 0;
  for (int length = 1; length <= steps.longest(); ++length) {
    parameters_.push_back(sum * steps.probability(length));
    tokens_.push_back(until += length * steps.probability(length) / steps.mean());
  }
}

// A Dirichlet distribution in proportion to its tokens per step is a mixture: with one step more, whose length is drawn
// by its share of the tokens, added to the parameters.
std::vector<double> RequestAcceptance::draw_survival(Rng& rng) const {
  const auto seen = std::min<std::ptrdiff_t>(std::ranges::upper_bound(tokens_, rng.uniform()) - tokens_.begin(),
                                             std::ssize(tokens_) - 1);
  std::vector<double> weights;
  for (std::size_t n = 0; n < parameters_.size(); ++n)
    weights.push_back(gamma_variate_of(rng, parameters_[n] + (std::ssize(weights) == seen ? 1 : 0)));
  double more = 0;
  for (std::size_t n = weights.size(); n-- > 0;) more += std::exchange(weights[n], more);
  std::vector<double> survival(weights.begin(), weights.end() - 1);  // weights[n]: of more than n drafts
  for (double& share : survival) share /= more;
  return survival;
}

}  // namespace draftline
