// SPDX-License-Identifier: Apache-2.0
// How sure a drafter must be of a token, learned from drafts that were judged: the threshold with the least
// share of false alarms (rejected, though above it) + 3 x share of misses (accepted, though below it).
#pragma once
#include <optional>
#include <vector>

namespace draftline::methods {

struct JudgedDraft {
  double probability;
  bool accepted;
};

// None: too few (at most five), or all alike. Drafts at the threshold count as above it; the highest of equally good
// ones.
std::optional<double> fitted_threshold(std::vector<JudgedDraft>);

}  // namespace draftline::methods
