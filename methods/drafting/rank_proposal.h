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
// Reads a draft length (a chain) or "tree": "default", {"nodes": [paths of ranks]} or {"optimal": {"budget": n}};
// without either, the official tree. An optimal tree needs the acceptance of ranks, `accepted` or else the method's own
// "acceptance": {"ranks": ..}. Mistakes are noted at MethodSpec::in().
RankTree read_rank_plan(const MethodSpec&, const RankLimits&, const RankTree& official, const RankAcceptance& accepted);

int width_of_level(const RankTree&, int level);  // candidates that a level needs: its highest rank + 1; level from 0
// The proposal of the tree's nodes. candidates[j]: int32 [sequences, width_of_level(j)], best first.
Proposal propose_ranks(Ops&, const Session&, const RankTree&, const std::vector<Tensor>& candidates);

}  // namespace draftline::methods
