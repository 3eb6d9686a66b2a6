// SPDX-License-Identifier: Apache-2.0
// Selects the drafts of a batch that are worth a row of the target's pass (DSpark: Cheng et al. 2026, section 3.2.2 and
// algorithm 1), and prices steps in which sequences verify different numbers of drafts.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "sim/step_cost.h"

namespace draftline {

// Algorithm 1: drafts are admitted in descending order of survival while expected tokens / step time increases. The
// first draft that does not increase it ends the search, so that a draft's admission does not depend on later drafts.
// The result is optimal if the quotient has a single maximum, as with a time linear in the rows. survival [sequences *
// drafts]: the probability that a draft and all before it are accepted; it must not rise within a sequence. time(rows,
// tokens): the time of a step that verifies `rows` drafts in total and is expected to emit `tokens`.
std::vector<int> admit_prefixes(std::span<const double> survival, int drafts,
                                const std::function<double(int rows, double tokens)>& time);

// The price of a step that drafts the longest length and verifies `verified` drafts per sequence on average,
// interpolated between draft lengths. Below one draft it is extrapolated from the two shortest lengths, because a plain
// step drafts nothing. `lengths`: the priced draft lengths, ascending. The batch's own draft length is ignored.
StepCost::Line verifying(StepCost&, std::span<const int> lengths, const DecodeBatch&, double verified);

}  // namespace draftline
