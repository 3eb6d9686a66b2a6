// SPDX-License-Identifier: Apache-2.0
// Optimal trees against all trees of that size (METHODS.md 3.21).
#include "model/tree_search.h"

#include <algorithm>
#include <set>

#include "core/rng.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

using Path = std::vector<int>;

// The best value of any tree of `nodes` drafts, by trying all.
double brute_force(const RankAcceptance& accepted, int nodes, const std::vector<Path>& tree = {}) {
  if (static_cast<int>(tree.size()) == nodes) return tree_length(accepted, tree);
  std::vector<Path> open{{}};
  open.insert(open.end(), tree.begin(), tree.end());
  double best = tree_length(accepted, tree);
  for (const Path& parent : open) {
    if (parent.size() == accepted.size()) continue;
    for (std::size_t rank = 0; rank < accepted[parent.size()].size(); ++rank) {
      Path child = parent;
      child.push_back(static_cast<int>(rank));
      // In ascending order only: each tree is met once.
      if (std::find(tree.begin(), tree.end(), child) != tree.end()) continue;
      if (!tree.empty() &&
          (child.size() < tree.back().size() || (child.size() == tree.back().size() && child < tree.back())))
        continue;
      auto grown = tree;
      grown.push_back(child);
      best = std::max(best, brute_force(accepted, nodes, grown));
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the best tree is the best of all trees of its size") {
  Rng rng(3, "trees");
  for (int trial = 0; trial < 30; ++trial) {
    RankAcceptance accepted;
    for (int level = 0; level < 3; ++level) {
      accepted.emplace_back();
      double left = 1;
      for (int rank = 0; rank < 3; ++rank) {
        accepted.back().push_back(left * static_cast<double>(rng.below(1000)) / 1000);
        left -= accepted.back().back();
      }
    }
    for (int nodes = 1; nodes <= 5; ++nodes) {
      const auto tree = best_tree(accepted, nodes);
      CHECK(static_cast<int>(tree.size()) == nodes);
      CHECK(tree_length(accepted, tree) == Approx(brute_force(accepted, nodes)).epsilon(1e-12));
      const std::set<Path> all(tree.begin(), tree.end());
      CHECK(all.size() == tree.size());
      for (const Path& p : tree) CHECK((p.size() == 1 || all.contains(Path(p.begin(), p.end() - 1))));
    }
  }
}

TEST_CASE("one rank gives a chain, and a full tree has no more nodes than there are") {
  const RankAcceptance one(5, {0.7});
  CHECK(best_tree(one, 3) == std::vector<Path>{{0}, {0, 0}, {0, 0, 0}});
  CHECK(tree_length(one, best_tree(one, 3)) == Approx(1 + 0.7 + 0.49 + 0.343));
  CHECK(best_tree({{0.5, 0.3}, {0.5, 0.3}}, 100).size() == 6);
}

TEST_CASE("shares that cannot be of exclusive events are refused where they stand") {
  const auto mistakes = [](const char* text) {
    const Document d = Document::from_text(text, "ranks.json");
    read_rank_acceptance(d.root());
    try {
      d.finish();
    } catch (const InputErrors& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK(mistakes("[[0.6, 0.5]]").find("/0") != std::string::npos);
  CHECK(mistakes("[[0.6], []]").find("/1") != std::string::npos);
  CHECK(mistakes("[[0.6], [1.5]]").find("/1/0") != std::string::npos);
  CHECK(mistakes("[]").find("at least one level") != std::string::npos);
  CHECK(mistakes("[[0.6, 0.4], [0]]").empty());
}
