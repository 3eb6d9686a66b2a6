// SPDX-License-Identifier: Apache-2.0
// Rows to verify from a tree of ranks (decoder/token_tree): the shape is fixed before the text is known.
#pragma once
#include <vector>

#include "core/reader.h"
#include "decoder/method.h"
#include "decoder/token_tree.h"
#include "methods/method_spec.h"
#include "model/tree_search.h"

namespace draftline::methods {

RankTree rank_chain(int length);
// A draft length: a chain; "tree": "default" or {"nodes": [paths]} or {"optimal": {"budget": n}}, which needs to know
// which ranks are accepted: as Context has it, else the method's own "acceptance": {"ranks": ..}. Neither: the official
// one.
RankTree read_rank_plan(const MethodSpec&, const RankLimits&, const RankTree& official, const RankAcceptance& accepted);

int width_of_level(const RankTree&, int level);  // candidates that level needs: its highest rank + 1; levels from 0
// candidates[j]: int32 [sequences, width_of_level(j)], best first.
Proposal propose_ranks(Ops&, const Session&, const RankTree&, const std::vector<Tensor>& candidates);

}  // namespace draftline::methods
