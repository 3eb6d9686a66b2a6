// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/rank_proposal.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline::methods {

RankTree rank_chain(int length) {
  std::vector<std::vector<int>> paths;
  for (int n = 1; n <= length; ++n) paths.emplace_back(at(n), 0);
  return rank_tree(std::move(paths), {length, 1});
}

int most_candidates(const Context& c) {
  int tokens = c.target.shape.vocabulary;
  if (const auto own = c.spec.value("draft_vocabulary"); own.is_number()) tokens = own.get<int>();
  else if (c.spec.entry().checkpoint == DrafterKind::eagle3 && c.published && c.published->vocabulary > 0)
    tokens = c.published->vocabulary;
  return std::min(64, tokens);
}

static RankTree optimal_tree(const Context& c, const DraftTree::Optimal& wanted) {
  RankAcceptance levels = c.accepted.empty() ? wanted.ranks : c.accepted;
  const RankLimits limits{c.spec.entry().lengths.most, most_candidates(c)};
  levels.resize(std::min(levels.size(), at(limits.levels)));
  for (auto& level : levels) level.resize(std::min(level.size(), at(limits.ranks)));
  return rank_tree(best_tree(levels, wanted.budget), limits);
}

RankTree rank_plan(const Context& c) { return rank_plan(c, c.spec.entry().lengths.official()); }

RankTree rank_plan(const Context& c, const RankTree& otherwise) {
  if (const auto length = c.spec.draft_length()) return rank_chain(*length);
  if (!c.spec.tree()) return otherwise;
  const auto& form = c.spec.tree()->form;
  if (const auto* wanted = std::get_if<DraftTree::Optimal>(&form)) return optimal_tree(c, *wanted);
  if (const auto* paths = std::get_if<DraftTree::Paths>(&form))
    return rank_tree(paths->nodes, {c.spec.entry().lengths.most, most_candidates(c)});
  return otherwise;
}

static std::optional<Mistake> wrong_official(const Context& c, int candidates) {
  const auto& lengths = c.spec.entry().lengths;
  if (lengths.official == nullptr || c.spec.draft_length()) return std::nullopt;
  const RankTree official = lengths.official();
  const int ranks = 1 + *std::max_element(official.ranks.begin(), official.ranks.end());
  if (ranks <= candidates) return std::nullopt;
  return Mistake{"", "its own tree has " + std::to_string(ranks) + " candidates at a level, and the vocabulary " +
                         std::to_string(candidates) + " tokens: give a \"draft_length\" or a \"tree\""};
}

std::optional<Mistake> wrong_tree(const Context& c) {
  const auto& tree = c.spec.tree();
  const int candidates = most_candidates(c);
  if (!tree || std::holds_alternative<DraftTree::Official>(tree->form)) return wrong_official(c, candidates);
  if (const auto* paths = std::get_if<DraftTree::Paths>(&tree->form)) {
    const auto wrong = mistakes_of(paths->nodes, {c.spec.entry().lengths.most, candidates});
    if (wrong.empty()) return std::nullopt;
    return Mistake{"/tree/nodes/" + std::to_string(wrong.front().first), wrong.front().second};
  }
  if (const auto* wanted = std::get_if<DraftTree::Optimal>(&tree->form)) {
    if (!c.accepted.empty() || !wanted->ranks.empty()) return std::nullopt;
    return Mistake{"/tree",
                   "an optimal tree needs to know which ranks are accepted: \"acceptance\": {\"ranks\": [[..] per "
                   "level]}, or {\"trace\": FILE} of a trace that holds ranks"};
  }
  const auto& grown = std::get<DraftTree::Grown>(tree->form);
  if (grown.top_k <= candidates) return std::nullopt;
  return Mistake{grown.in_words_of_sglang ? "/tree/eagle_topk" : "/tree/top_k",
                 "must be at most " + std::to_string(candidates) + ", got " + std::to_string(grown.top_k)};
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
