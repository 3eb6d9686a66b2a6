// SPDX-License-Identifier: Apache-2.0
// Which drafts of a batch are worth a row of the target's pass (DSpark: Cheng et al. 2026, section 3.2.2 and algorithm
// 1), and what a step costs in which sequences verify different numbers of drafts.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "sim/step_cost.h"

namespace draftline {

// Algorithm 1: drafts are admitted in descending order of survival while expected tokens / step time rises; the first
// draft that does not raise it ends the search, so that no draft's admission depends on those behind it. The result is
// the best of all choices if that quotient rises to one maximum, which it does where the time is linear in the rows.
// survival [sequences * drafts]: the probability that a draft and all before it are accepted; it must not rise within a
// sequence. time(rows, tokens): of a step that verifies `rows` drafts in all and is expected to emit `tokens`.
std::vector<int> admit_prefixes(std::span<const double> survival, int drafts,
                                const std::function<double(int rows, double tokens)>& time);

// The price of a step that drafts as much as is drafted at the longest length and verifies `verified` of each sequence
// on average: linear between draft lengths. Below one draft it is continued from the two shortest lengths, and is not
// that of a plain step, which drafts nothing. `lengths`: the draft lengths that have a price, ascending; the batch's
// own is of no account.
StepCost::Line verifying(StepCost&, std::span<const int> lengths, const DecodeBatch&, double verified);

}  // namespace draftline
