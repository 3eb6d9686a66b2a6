// SPDX-License-Identifier: Apache-2.0
// How acceptance differs between requests: each draws its own distribution of accepted drafts from a Dirichlet
// distribution around the mean one, and then its steps independently. For one draft this is the beta-binomial
// distribution (Skellam 1948), for more the Dirichlet-multinomial (Mosimann 1962). Two steps of a request have the
// intraclass correlation 1 / (c + 1), where c is the sum of the Dirichlet's parameters. The mean over steps does not
// change: a request of many tokens per step has few, so that requests are drawn in proportion to tokens per step.
#pragma once
#include <vector>

#include "core/rng.h"
#include "model/acceptance/acceptance.h"

namespace draftline {

inline constexpr double kMostCorrelation = 0.99;

class RequestAcceptance {
 public:
  // `steps`: the distribution over all steps. `intraclass_correlation`: above 0, at most kMostCorrelation.
  RequestAcceptance(const LengthDistribution& steps, double intraclass_correlation);
  // [j]: the share of the request's steps that accept more than j drafts.
  std::vector<double> draw_survival(Rng&) const;

 private:
  std::vector<double> parameters_;  // [n]: of the Dirichlet, for n accepted drafts
  std::vector<double> tokens_;      // [n]: share of all tokens that steps of at most n accepted drafts emit
};

}  // namespace draftline
