// SPDX-License-Identifier: Apache-2.0
// The tree of drafts that yields most tokens per step, from how often each rank of each level is the accepted one (Chen
// et al. 2024, Sequoia, section 3.1). A node adds the product of the shares along its path, whatever the rest of the
// tree: so the best tree of n nodes is the n likeliest, and their parents are among them.
#pragma once
#include <vector>

#include "core/reader.h"

namespace draftline {

// accepted[level][rank]: share of steps that, having come to that level, accept the candidate of that rank. A level's
// shares are of exclusive events: their sum is at most 1.
using RankAcceptance = std::vector<std::vector<double>>;

// Reads shares by level and rank, [[0.6, 0.1], [0.5]]. Mistakes are noted; the result is then empty.
RankAcceptance read_rank_acceptance(const Reader&);

// Paths of ranks, best first; fewer than `nodes` if the levels have no more.
std::vector<std::vector<int>> best_tree(const RankAcceptance&, int nodes);
// Tokens per step, the bonus included.
double tree_length(const RankAcceptance&, const std::vector<std::vector<int>>& paths);

}  // namespace draftline
