// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/rank_proposal.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline::methods {

RankTree rank_chain(int length) {
  std::vector<std::vector<int>> paths;
  for (int n = 1; n <= length; ++n) paths.emplace_back(static_cast<std::size_t>(n), 0);
  return rank_tree(std::move(paths), {length, 1});
}

static RankTree read_optimal(const Reader& in, const Reader& method, const RankLimits& limits, RankAcceptance levels) {
  const Reader optimal = in.at("optimal");
  const int budget = optimal.at("budget").integer(1, 1023);
  optimal.done();
  in.done();
  if (levels.empty()) {
    const auto acceptance = method.find("acceptance");
    const auto ranks = acceptance && acceptance->is_object() ? acceptance->find("ranks") : std::nullopt;
    if (ranks) levels = read_rank_acceptance(*ranks);
    else
      in.fail(
          "an optimal tree needs to know which ranks are accepted: \"acceptance\": {\"ranks\": [[..] per level]}, or "
          "{\"trace\": FILE} of a trace that holds ranks");
  }
  if (levels.empty()) return rank_chain(1);
  levels.resize(std::min(levels.size(), static_cast<std::size_t>(limits.levels)));
  for (auto& level : levels) level.resize(std::min(level.size(), static_cast<std::size_t>(limits.ranks)));
  return rank_tree(best_tree(levels, budget), limits);
}

RankTree read_rank_plan(const MethodSpec& spec, const RankLimits& limits, const RankTree& official,
                        const RankAcceptance& accepted) {
  const Reader& in = spec.in();
  const auto length = spec.draft_length();
  const auto tree = in.find("tree");
  if (length && tree) in.fail("give \"draft_length\" (a chain) or \"tree\", not both");
  if (tree && tree->is_object())
    return tree->has("optimal") ? read_optimal(*tree, in, limits, accepted) : read_rank_tree(*tree, limits);
  if (tree && tree->text() != "default")
    tree->fail("must be \"default\", {\"nodes\": [paths of ranks]} or {\"optimal\": {\"budget\": n}}");
  if (length) return rank_chain(*length);
  const int ranks = 1 + *std::max_element(official.ranks.begin(), official.ranks.end());
  if (ranks <= limits.ranks) return official;
  in.fail("its own tree has " + std::to_string(ranks) + " candidates at a level, and the vocabulary " +
          std::to_string(limits.ranks) + " tokens: give a \"draft_length\" or a \"tree\"");
  return rank_chain(1);
}

int width_of_level(const RankTree& t, int level) {
  const IntSpan depths = t.tree.depths(), ranks = t.ranks;
  int most = 0;
  for (int r = 0; r < ranks.size(); ++r)
    if (depths[r] == level + 1) most = std::max(most, ranks[r] + 1);
  return most;
}

Proposal propose_ranks(Ops& ops, const Session& s, const RankTree& t, const std::vector<Tensor>& candidates) {
  const int b = s.sequences, n = t.tree.rows();
  std::vector<Tensor> flat{s.root};  // roots, then the candidates of each level, [sequences * width, 1]
  IntVector<int> level_start(1, b);
  for (const Tensor& c : candidates) {
    flat.push_back(reshape(c, c.rows * c.cols, 1));
    level_start.push_back(level_start.back() + c.rows * c.cols);
  }
  const IntSpan depths = t.tree.depths(), ranks = t.ranks;
  const IntSpan levels = candidates;
  std::vector<int> index;
  for (int q = 0; q < b; ++q) {
    index.push_back(q);
    for (int r = 1; r < n; ++r) {
      const int level = depths[r] - 1;
      index.push_back(level_start[level] + q * levels[level].cols + ranks[r]);
    }
  }
  Proposal p{.rows = ops.uniform(b, n),
             .tokens = ops.gather(ops.concat_rows(flat), ops.constant(index)),
             .parents = ops.constant(t.tree.parents(), 1, b),
             .depth = t.tree.depth()};
  if (p.depth + 1 != n) p.tree_mask = ops.constant(t.tree.tree_mask(), t.tree.words(), b);
  return p;
}

}  // namespace draftline::methods
