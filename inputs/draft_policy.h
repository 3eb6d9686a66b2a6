// SPDX-License-Identifier: Apache-2.0
// How a server chooses the draft length of its next step: fixed; by batch size; by goodput, the highest expected
// tokens/s; by the confidence of each draft; or by an oracle that uses the future acceptance of the step, as an upper
// bound (docs/explanation/simulator.md).
#pragma once
#include <optional>
#include <vector>

#include "core/mistake.h"
#include "core/reader.h"

namespace draftline {

struct DraftPolicy {
  enum class Kind { fixed, by_batch_size, goodput, oracle, confidence } kind = Kind::fixed;
  struct Rule {
    int batch_size;                    // the rule applies from this batch size to that of the next rule
    std::optional<int> drafts;         // draft length; none: the method's own
    std::optional<Reader> place = {};  // for mistakes_of_drafts()
  };
  std::vector<Rule> rules;           // for by_batch_size; batch sizes ascend from 1
  double concentration = 0;          // for confidence: higher values reduce differences within a position
  std::optional<Reader> place = {};  // for confidence and mistakes_of_drafts()
};

// Reads "fixed", "goodput", "oracle", {"off_above": 32}, {"draft_length_by_batch_size": {"1": 5, "16": 2, "64": 0}},
// vLLM's form, {"num_speculative_tokens_per_batch_size": [[1, 15, 5], [16, 63, 2], [64, 256, 0]]}, or
// {"confidence": {"concentration": 2}}.
DraftPolicy read_draft_policy(const Reader&);
// Each rule with more drafts than the method's `draft_length`, and a confidence policy unless the method drafts a
// chain.
std::vector<PlacedMistake> mistakes_of_drafts(const DraftPolicy&, int draft_length, bool chain);

}  // namespace draftline
