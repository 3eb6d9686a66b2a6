// SPDX-License-Identifier: Apache-2.0
// Proposals with the shape of a tree of ranks (decoder/token_tree), which does not depend on the text.
#pragma once
#include <vector>

#include "core/reader.h"
#include "decoder/method.h"
#include "decoder/token_tree.h"
#include "methods/method_spec.h"
#include "model/acceptance/tree_search.h"

namespace draftline::methods {

RankTree rank_chain(int length);  // the best candidate at each of `length` levels
// How many candidates a level of the method's tree can have, at most 64: the tokens of the drafter's head.
int most_candidates(const Context&);
// The tree of the parameters: a chain of the draft length, "tree", or else `otherwise`, by default that of the authors'
// code. An optimal one is by the acceptance of ranks, or by that of the method's own object.
RankTree rank_plan(const Context&);
RankTree rank_plan(const Context&, const RankTree& otherwise);
std::optional<Mistake> wrong_tree(const Context&);  // that "tree" does not fit drafter or acceptance, of either kind

int width_of_level(const RankTree&, int level);  // candidates that a level needs: its highest rank + 1; level from 0
// The proposal of the tree's nodes. candidates[j]: int32 [sequences, width_of_level(j)], best first.
Proposal propose_ranks(Ops&, const Session&, const RankTree&, const std::vector<Tensor>& candidates);

}  // namespace draftline::methods
