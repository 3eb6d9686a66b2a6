// SPDX-License-Identifier: Apache-2.0
// Sequoia (Chen et al. 2024): a draft network drafts a tree, drawn without replacement, of the shape with the largest
// mean acceptance length for a number of nodes, by the measured acceptance of each rank (model/acceptance/tree_search).
#include <numeric>

#include "methods/drafting/network_tree.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"
#include "model/acceptance/tree_search.h"

namespace draftline::methods {

namespace {

std::unique_ptr<Method> make_sequoia(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const RankLimits limits{spec.entry().lengths.most, std::min(64, c.target.shape.vocabulary)};
  RankAcceptance accepted{{1}};
  int levels = 8;
  if (const auto given = in.find("depth")) levels = given->integer(1, limits.levels);
  if (const auto given = in.find("rank_acceptance")) {
    std::vector<double> vector;
    for (const Reader& share : given->items()) {
      if (!vector.empty() && share.number(0, 1) > vector.back())
        share.fail("above the rank before it: children are drawn in order, so a later one can't be kept without it");
      vector.push_back(share.number(0, 1));
    }
    if (vector.empty() && !given->failed()) given->fail("needs at least one rank");
    constexpr double kRounding = 1e-6;
    if (std::accumulate(vector.begin(), vector.end(), 0.0) > 1 + kRounding)
      given->fail("the shares of one level are of exclusive events: their sum is at most 1");
    if (!vector.empty()) accepted.assign(1, vector);
  } else if (!c.accepted.empty()) {
    accepted = c.accepted;
    levels = std::min(levels, static_cast<int>(accepted.size()));
  } else if (!in.has("tree") && !spec.draft_length()) {
    in.fail(
        "the shape of its tree needs to know which ranks are accepted: \"rank_acceptance\": [shares of ranks 0, 1, "
        "..], or an \"acceptance\" of ranks or of a trace that holds them; else give \"tree\" or \"draft_length\"");
  }
  accepted.resize(static_cast<std::size_t>(levels), accepted[0]);
  for (auto& level : accepted) level.resize(std::min(level.size(), static_cast<std::size_t>(limits.ranks)));
  const auto given = in.find("budget");
  const int budget = given ? given->integer(1, 1023) : 63;
  const RankTree best = rank_tree(best_tree(accepted, budget), limits);
  return std::make_unique<NetworkTree>(DraftNetwork(spec, c), read_rank_plan(spec, limits, best, c.accepted),
                                       Children::drawn);
}

}  // namespace

Entry sequoia() {
  return {
      .name = "sequoia",
      .title = "a smaller network's tree, of the best shape for a budget",
      .source = "chen2024sequoia",
      .locator = "section 3",
      .lossless = Losslessness::lossless,
      .parameters =
          "draft: a transformer of the same vocabulary; budget (63 drafts), depth (8), rank_acceptance ([0.5, ..] of "
          "ranks 0, 1, ..; else that of the acceptance); or tree or draft_length",
      .make = make_sequoia,
      .examples = {R"("draft": "half", "budget": 9, "depth": 4, "rank_acceptance": [0.5, 0.2, 0.1])"},
      .lengths = {.most = 32},
      .draft_network = true,
      .of_drafts = {"budget", "depth", "rank_acceptance"}};
}

}  // namespace draftline::methods
