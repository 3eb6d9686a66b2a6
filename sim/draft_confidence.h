// SPDX-License-Identifier: Apache-2.0
// What a drafter's confidence head says of its drafts, as a calibrated guess: of the drafts to which it gives
// confidence c, a share c survives. Confidences of a position follow a beta distribution around its acceptance rate;
// the larger its concentration, the less they tell one draft from another. They are drawn given what becomes of the
// draft, which leaves the outcomes as they are: an accepted draft's from Beta(a + 1, b), a rejected one's from
// Beta(a, b + 1), and from Beta(a, b) behind a rejected one.
#pragma once
#include <span>
#include <vector>

#include "trace/draft_outcomes.h"

namespace draftline {

class DraftConfidence {
 public:
  // conditional_rates[j]: the probability that draft j is accepted if those before it are.
  DraftConfidence(std::span<const double> conditional_rates, double concentration);
  int drafts() const { return count(positions_); }
  // Appends the survival probabilities of the drafts of a step of which `accepted` would be accepted: products of
  // confidences. They depend on the text and the position alone.
  void survival(const DraftOutcomes::Text&, int position, int accepted, std::vector<double>& to) const;

 private:
  struct Position {  // quantiles
    std::vector<float> accepted, rejected, unknown;
  };
  std::vector<Position> positions_;
};

}  // namespace draftline
