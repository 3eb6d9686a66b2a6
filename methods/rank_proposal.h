// SPDX-License-Identifier: Apache-2.0
// Rows to verify from a tree of ranks (decoder/token_tree): the shape is fixed before the text is known.
#pragma once
#include <vector>

#include "decoder/method.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

int width_of_level(const RankTree&, int level);  // candidates that level needs: its highest rank + 1; levels from 0
// candidates[j]: int32 [sequences, width_of_level(j)], best first.
Proposal propose_ranks(Ops&, const Session&, const RankTree&, const std::vector<Tensor>& candidates);

}  // namespace draftline::methods
