// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/tree_search.h"

#include "core/int_indexed.h"

#include <queue>

namespace draftline {

RankAcceptance read_rank_acceptance(const Reader& in) {
  RankAcceptance accepted;
  bool good = true;
  for (const Reader& level : in.items()) {
    accepted.emplace_back();
    double sum = 0;
    for (const Reader& share : level.items()) {
      accepted.back().push_back(share.number(0, 1));
      sum += accepted.back().back();
      good = good && !share.failed();
    }
    constexpr double kRounding = 1e-6;
    if (sum > 1 + kRounding) {
      level.fail("the shares of one level are of exclusive events: their sum is at most 1");
      good = false;
    }
    if (sum > 1)  // by rounding, which must not make anything likelier than certain
      for (double& share : accepted.back()) share /= sum;
    if (accepted.back().empty()) {
      level.fail("a level needs at least one rank");
      good = false;
    }
  }
  if (accepted.empty() && !in.failed()) in.fail("needs at least one level");
  return good ? accepted : RankAcceptance{};
}

std::vector<std::vector<int>> best_tree(const RankAcceptance& accepted, int nodes) {
  struct Node {
    double share;
    std::vector<int> path;
  };
  // Equal shares: the shallower first, so that parents of sure children stand before them; then by rank.
  const auto worse = [](const Node& a, const Node& b) {
    if (a.share != b.share) return a.share < b.share;
    if (a.path.size() != b.path.size()) return a.path.size() > b.path.size();
    return a.path > b.path;
  };
  std::priority_queue<Node, std::vector<Node>, decltype(worse)> open(worse);
  const auto offer_children = [&](const Node& n) {
    if (n.path.size() == accepted.size()) return;
    const auto& level = accepted[n.path.size()];
    for (std::size_t rank = 0; rank < level.size(); ++rank) {
      Node child{n.share * level[rank], n.path};
      child.path.push_back(static_cast<int>(rank));
      open.push(std::move(child));
    }
  };
  offer_children({1, {}});
  std::vector<std::vector<int>> paths;
  while (!open.empty() && count(paths) < nodes) {
    const Node best = open.top();
    open.pop();
    paths.push_back(best.path);
    offer_children(best);
  }
  return paths;
}

double tree_length(const RankAcceptance& accepted, const std::vector<std::vector<int>>& paths) {
  double length = 1;
  for (const auto& path : paths) {
    double share = path.size() <= accepted.size() ? 1 : 0;
    for (std::size_t level = 0; level < path.size() && share > 0; ++level) {
      const std::size_t rank = at(path[level]);
      share *= rank < accepted[level].size() ? accepted[level][rank] : 0;
    }
    length += share;
  }
  return length;
}

}  // namespace draftline
