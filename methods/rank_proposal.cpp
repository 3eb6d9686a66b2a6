// SPDX-License-Identifier: Apache-2.0
#include "methods/rank_proposal.h"

#include <algorithm>

namespace draftline::methods {

int width_of_level(const RankTree& t, int level) {
  int most = 0;
  for (std::size_t r = 0; r < t.ranks.size(); ++r)
    if (t.tree.depths()[r] == level + 1) most = std::max(most, t.ranks[r] + 1);
  return most;
}

Proposal propose_ranks(Ops& ops, const Session& s, const RankTree& t, const std::vector<Tensor>& candidates) {
  const int b = s.sequences, n = t.tree.rows();
  std::vector<Tensor> flat{s.root};  // all candidates below each other: [sequences * width] of each level
  std::vector<int> level_start{b};
  for (const Tensor& c : candidates) {
    flat.push_back(reshape(c, c.rows * c.cols, 1));
    level_start.push_back(level_start.back() + c.rows * c.cols);
  }
  std::vector<int> index;
  for (int q = 0; q < b; ++q) {
    index.push_back(q);
    for (int r = 1; r < n; ++r) {
      const auto level = static_cast<std::size_t>(t.tree.depths()[static_cast<std::size_t>(r)] - 1);
      index.push_back(level_start[level] + q * candidates[level].cols + t.ranks[static_cast<std::size_t>(r)]);
    }
  }
  Proposal p{ops.uniform(b, n),
             ops.gather(ops.concat_rows(flat), ops.constant(index)),
             ops.constant(t.tree.parents(), 1, b),
             {},
             t.tree.depth()};
  if (p.depth + 1 != n) p.sees = ops.constant(t.tree.sees(), t.tree.words(), b);
  return p;
}

}  // namespace draftline::methods
