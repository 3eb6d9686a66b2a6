// SPDX-License-Identifier: Apache-2.0
// A chain whose length is decided while drafting: a sequence stops when its drafter's confidence is low, and the batch
// continues until all sequences have stopped. The decision depends only on the drafter's distribution, so that sampled
// text keeps the target's distribution.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "decoder/method.h"

namespace draftline::methods {

struct EarlyStop {
  int most = 8;              // the largest draft length
  int usual = 8;             // draft length of all sequences while pricing
  bool drop_unsure = false;  // whether the draft at which a sequence stops is dropped (BiLD)
  // Whether sequence `i` continues after `drafted` tokens. `probability`: the drafter's largest at the last one.
  std::function<bool(std::size_t i, int drafted, double probability)> goes_on;
};

struct StoppedChain {
  Proposal proposal;
  std::vector<int> lengths;  // [sequences]: drafts of each sequence
};

// `network(j, token)`: the logits of draft j, [sequences, vocabulary], after the token before it (the root for j = 0),
// [sequences, 1]. `after_last(j, token)`: records the inputs of verification for the last draft, if any (early exit).
StoppedChain draft_until(Ops&, const Session&, const EarlyStop&,
                         const std::function<Tensor(int j, Tensor token)>& network,
                         const std::function<void(int j, Tensor token)>& after_last = {});

// The answers of draft_until() to decide() if sequences stop after these numbers of drafts (Method::answers).
std::optional<Method::Answers> stopping_answers(const std::vector<int>& drafts, int most, bool drop_unsure);

// The last chain of a sequence. The growth of its text shows how many drafts were accepted.
struct LastChain {
  std::optional<int> length = {};  // tokens of the text before it; none for a new text
  int drafted = 0;
  // `now`: tokens of the text after it. None if this is another text.
  std::optional<int> accepted(int now) const {
    return length && now > *length ? std::optional(now - *length - 1) : std::nullopt;
  }
};

// The input `name` with the indices of each sequence's first rows_each[q] rows, sequence by sequence, among rows
// [passes, sequences].
Tensor chain_rows(Ops&, const std::vector<int>& rows_each, int sequences, const std::string& name);

// A draft that was verified, with the drafter's probability of it.
struct JudgedDraft {
  double probability;
  bool accepted;
};

// The threshold of the probability, 0 to 1, with the smallest cost: share of rejected drafts at or above it + 3 x share
// of accepted drafts below it; the highest of equally good ones. None for at most five drafts, or if all or none were
// accepted.
std::optional<double> fitted_threshold(std::vector<JudgedDraft>);

}  // namespace draftline::methods
