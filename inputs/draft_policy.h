// SPDX-License-Identifier: Apache-2.0
// How a server chooses the draft length of its next step: fixed, by the batch's size, what promises the most tokens a
// second, or, as an upper bound, what would have been best.
#pragma once
#include <optional>
#include <vector>

#include "core/reader.h"

namespace draftline {

struct DraftPolicy {
  enum class Kind { fixed, by_batch_size, goodput, oracle } kind = Kind::fixed;
  struct Rule {
    int batch_size;                    // from this one on
    std::optional<int> drafts;         // none: as many as the method makes
    std::optional<Reader> place = {};  // for a mistake that shows when the method is known
  };
  std::vector<Rule> rules;  // rising
};

// "fixed", "goodput", "oracle", {"off_above": 32} or {"draft_length_by_batch_size": {"1": 5, "16": 2, "64": 0}}.
DraftPolicy read_draft_policy(const Reader&);
// Notes the rules that want more drafts than a method makes.
void check_drafts(const DraftPolicy&, int draft_length);

}  // namespace draftline
