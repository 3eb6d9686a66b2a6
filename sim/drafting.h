// SPDX-License-Identifier: Apache-2.0
// How the sequences of a server draft; its limits are inputs (inputs/serving_limits).
#pragma once
#include <cstdint>
#include <vector>

#include "inputs/draft_policy.h"
#include "inputs/serving_limits.h"
#include "trace/draft_outcomes.h"

namespace draftline {

// How the sequences of a server draft. Without outcomes they do not.
struct Drafting {
  const DraftOutcomes* outcomes = nullptr;
  int draft_length = 0;      // the most that a step drafts
  std::vector<int> lengths;  // those that a policy may choose among, rising; all have a price
  int rows = 1;              // verified rows of a sequence: with a tree more than draft_length + 1
  DraftPolicy policy;
  std::uint64_t seed = 0;
};

}  // namespace draftline
