// SPDX-License-Identifier: Apache-2.0
// Optimal trees against all trees of that size.
#include "model/acceptance/tree_search.h"

#include <algorithm>
#include <set>

#include "core/rng.h"
#include "tests/core/messages.h"

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
  for (int trial = 0; trial < 8; ++trial) {
    RankAcceptance accepted;
    for (int level = 0; level < 3; ++level) {
      accepted.emplace_back();
      double left = 1;
      for (int rank = 0; rank < 3; ++rank) {
        accepted.back().push_back(left * static_cast<double>(rng.below(1000)) / 1000);
        left -= accepted.back().back();
      }
    }
    for (int nodes = 1; nodes <= 6; ++nodes) {  // 7 with the root
      const auto tree = best_tree(accepted, nodes);
      CHECK(static_cast<int>(tree.size()) == nodes);
      CHECK(tree_length(accepted, tree) == Approx(brute_force(accepted, nodes)).epsilon(1e-12));
      const std::set<Path> all(tree.begin(), tree.end());
      CHECK(all.size() == tree.size());
      for (const Path& p : tree) CHECK((p.size() == 1 || all.contains(Path(p.begin(), p.end() - 1))));
    }
  }
}

TEST_CASE("the best tree has the value that Sequoia's recursion finds, at budgets beyond all trees") {
  // T[m][l][b]: m nodes and l levels with the root, b children of it, the last of them holding y nodes:
  // T = max over y of T[m - y][l][b - 1] + p[b] * max over b' of T[y][l - 1][b'].
  const std::vector<double> p{0.55, 0.2, 0.1, 0.05};
  constexpr int kNodes = 24, kLevels = 5;
  const int most = static_cast<int>(p.size());
  const auto at = [&](int m, int l, int b) {
    return static_cast<std::size_t>((m * (kLevels + 1) + l) * (most + 1) + b);
  };
  std::vector<double> t(at(kNodes, kLevels, most) + 1, -1e9);  // what can't be: far below
  const auto best = [&](int m, int l) {
    double value = -1e9;
    for (int b = 0; b <= most; ++b) value = std::max(value, t[at(m, l, b)]);
    return value;
  };
  for (int l = 1; l <= kLevels; ++l) {
    t[at(1, l, 0)] = 1;
    for (int b = 1; b <= most && l > 1; ++b)
      for (int m = b + 1; m <= kNodes; ++m)
        for (int y = 1; y < m; ++y)
          t[at(m, l, b)] =
              std::max(t[at(m, l, b)], t[at(m - y, l, b - 1)] + p[static_cast<std::size_t>(b - 1)] * best(y, l - 1));
  }
  for (int l = 2; l <= kLevels; ++l) {
    const RankAcceptance accepted(static_cast<std::size_t>(l - 1), p);
    for (int m = 2; m <= kNodes; ++m) {
      if (best(m, l) < 0) continue;  // no tree of so few levels has so many nodes
      CHECK(tree_length(accepted, best_tree(accepted, m - 1)) == Approx(best(m, l)).epsilon(1e-12));
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
    return mistake_of([&] { d.finish(); });
  };
  CHECK(mistakes("[[0.6, 0.5]]").find("/0") != std::string::npos);
  CHECK(mistakes("[[0.6], []]").find("/1") != std::string::npos);
  CHECK(mistakes("[[0.6], [1.5]]").find("/1/0") != std::string::npos);
  CHECK(mistakes("[]").find("at least one level") != std::string::npos);
  CHECK(mistakes("[[0.6, 0.4], [0]]") == "none");
}
