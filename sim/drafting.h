// SPDX-License-Identifier: Apache-2.0
// How the sequences of a server draft.
#pragma once
#include <cstdint>
#include <vector>

#include "inputs/draft_policy.h"
#include "inputs/serving_limits.h"
#include "sim/draft_confidence.h"

namespace draftline {

struct Drafting {
  const DraftOutcomes* outcomes = nullptr;  // null: plain decoding
  int draft_length = 0;                     // the largest
  std::vector<int> lengths;                 // lengths from which a policy chooses, ascending; all have prices
  int rows = 1;                             // verified rows per sequence; more than draft_length + 1 for a tree
  DraftPolicy policy;
  std::uint64_t seed = 0;                       // for random outcomes
  const DraftConfidence* confidence = nullptr;  // if the policy needs it

  // Rows of a sequence in a step that verifies this many drafts.
  int rows_of(int drafts) const { return drafts == 0 ? 1 : drafts < draft_length ? drafts + 1 : rows; }
};

}  // namespace draftline
