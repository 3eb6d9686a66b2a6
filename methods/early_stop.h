// SPDX-License-Identifier: Apache-2.0
// A chain whose length is found while drafting: a sequence stops where its drafter is unsure, and the batch goes on
// until all have stopped. Stopping looks at the drafter's distribution alone, so sampled text stays the target's.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "decoder/method.h"

namespace draftline::methods {

struct EarlyStop {
  int most = 8;
  bool drop_unsure = false;  // the draft that ended it is dropped (BiLD); else it is the last
  // Whether sequence `i`, having drafted `drafted` tokens, goes on; probability: of its likeliest last candidate.
  std::function<bool(std::size_t i, int drafted, double probability)> goes_on;
};

struct StoppedChain {
  Proposal proposal;
  std::vector<int> lengths;  // drafts of each sequence
};

// `network(j, token)`: logits of the j-th draft, [sequences, vocabulary]; token: the draft before it, for j = 0 the
// roots. `after_last(j, token)`: what verification needs of the last draft, if anything (early exit).
StoppedChain draft_until(Ops&, const Session&, const EarlyStop&,
                         const std::function<Tensor(int j, Tensor token)>& network,
                         const std::function<void(int j, Tensor token)>& after_last = {});

// Rows of each sequence's chain among tensors of one row per sequence, stored pass by pass: [passes * sequences] rows.
Tensor chain_rows(Ops&, const std::vector<int>& rows_each, int sequences, const std::string& name);

// How sure a drafter must be of a token, learned from drafts that were judged: the threshold with the least share of
// false alarms (rejected, though above it) + 3 x share of misses (accepted, though below it).
struct JudgedDraft {
  double probability;
  bool accepted;
};

// None: too few (at most five), or all alike. Drafts at the threshold count as above it; the highest of equally good
// ones.
std::optional<double> fitted_threshold(std::vector<JudgedDraft>);

}  // namespace draftline::methods
