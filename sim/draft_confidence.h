// SPDX-License-Identifier: Apache-2.0
// A model of a calibrated confidence head: of the drafts with confidence c, a share c survives. Confidences of a
// position follow a beta distribution around its acceptance rate; a larger concentration makes them less informative.
// They are drawn conditional on the draft's outcome, so that outcomes do not change: from Beta(a + 1, b) for an
// accepted draft, Beta(a, b + 1) for a rejected one, and Beta(a, b) after a rejected one.
#pragma once
#include <span>
#include <vector>

#include "trace/draft_outcomes.h"

namespace draftline {

class DraftConfidence {
 public:
  // conditional_rates[j]: the probability that draft j is accepted if all earlier drafts are.
  DraftConfidence(std::span<const double> conditional_rates, double concentration);
  int drafts() const { return count(positions_); }
  // Appends the survival probabilities (products of confidences) of the drafts of a step in which `accepted` drafts
  // would be accepted. They depend only on the text and the position.
  void survival(const DraftOutcomes::Text&, int position, int accepted, std::vector<double>& to) const;

 private:
  struct Position {  // quantiles
    std::vector<float> accepted, rejected, unknown;
  };
  std::vector<Position> positions_;
};

}  // namespace draftline
