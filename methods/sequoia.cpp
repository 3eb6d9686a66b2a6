// SPDX-License-Identifier: Apache-2.0
// Sequoia (Chen et al. 2024): a draft network drafts a tree, drawn without replacement, of the shape with the largest
// mean acceptance length for a number of nodes, by the measured acceptance of each rank (model/acceptance/tree_search).
#include <numeric>

#include "core/int_indexed.h"
#include "methods/drafting/network_tree.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"
#include "model/acceptance/tree_search.h"

namespace draftline::methods {

namespace {

struct SequoiaParameters : Parameters {
  Setting<int> budget = 63, depth = 8;
  std::optional<std::vector<double>> rank_acceptance;
};

Field<SequoiaParameters> rank_acceptance_field() {
  return field(
      "rank_acceptance", &SequoiaParameters::rank_acceptance,
      {.meaning = "[0.5, ..] of ranks 0, 1, ..", .usual = "that of the acceptance", .decides = Decides::drafts},
      schema::list(schema::ratio()), [](const Reader& in) { return in.numbers(0, 1); }, as_it_is);
}

std::optional<Mistake> wrong_shares(const MethodSpec& spec) {
  const auto& shares = spec.own<SequoiaParameters>().rank_acceptance;
  if (!shares) return std::nullopt;
  for (std::size_t i = 1; i < shares->size(); ++i)
    if ((*shares)[i] > (*shares)[i - 1])
      return Mistake{"/rank_acceptance/" + std::to_string(i),
                     "above the rank before it: children are drawn in order, so a later one can't be kept without it"};
  if (shares->empty()) return Mistake{"/rank_acceptance", "needs at least one rank"};
  constexpr double kRounding = 1e-6;
  if (std::accumulate(shares->begin(), shares->end(), 0.0) > 1 + kRounding)
    return Mistake{"/rank_acceptance", "the shares of one level are of exclusive events: their sum is at most 1"};
  return std::nullopt;
}

std::optional<Mistake> lacks_ranks(const Context& c) {
  if (c.spec.own<SequoiaParameters>().rank_acceptance || !c.accepted.empty() || c.spec.tree() || c.spec.draft_length())
    return std::nullopt;
  return Mistake{
      "",
      "the shape of its tree needs to know which ranks are accepted: \"rank_acceptance\": [shares of ranks 0, 1, "
      "..], or an \"acceptance\" of ranks or of a trace that holds them; else give \"tree\" or \"draft_length\""};
}

std::unique_ptr<Method> make_sequoia(Context& c) {
  const auto& p = c.own<SequoiaParameters>();
  RankAcceptance accepted{{1}};
  int levels = p.depth;
  if (p.rank_acceptance) accepted.assign(1, *p.rank_acceptance);
  else if (!c.accepted.empty()) {
    accepted = c.accepted;
    levels = std::min(levels, count(accepted));
  }
  const RankLimits limits{c.spec.entry().lengths.most, most_candidates(c)};
  accepted.resize(at(levels), accepted[0]);
  for (auto& level : accepted) level.resize(std::min(level.size(), at(limits.ranks)));
  return std::make_unique<NetworkTree>(DraftNetwork(c), rank_plan(c, rank_tree(best_tree(accepted, p.budget), limits)),
                                       Children::drawn);
}

}  // namespace

Entry sequoia() {
  using P = SequoiaParameters;
  constexpr int kMostLevels = 32;
  return {.name = "sequoia",
          .title = "a smaller network's tree, of the best shape for a budget",
          .source = "chen2024sequoia",
          .locator = "section 3",
          .parameters = {integer("budget", &P::budget, 1, 1023, {.meaning = "drafts", .decides = Decides::drafts}),
                         integer("depth", &P::depth, 1, kMostLevels,
                                 {.meaning = "levels of the tree, at most", .decides = Decides::drafts}),
                         rank_acceptance_field()},
          .make = make_sequoia,
          .examples = {R"("draft": "half", "budget": 9, "depth": 4, "rank_acceptance": [0.5, 0.2, 0.1])"},
          .lengths = {.most = kMostLevels, .trees = TreeKind::ranks},
          .draft_network = true,
          .consistent = wrong_shares,
          .fits = lacks_ranks};
}

}  // namespace draftline::methods
