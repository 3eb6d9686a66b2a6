// SPDX-License-Identifier: Apache-2.0
// MCSD (Yang et al. 2024): a draft network drafts a tree with several candidates per node, drawn with or without
// replacement and verified one after the other. k-configuration -> widths: children per node of each level.
#include "methods/drafting/network_tree.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kMostNodes = 1023;

RankTree full_tree(const std::vector<int>& widths) {
  std::vector<std::vector<int>> paths, level{{}};
  for (const int width : widths) {
    std::vector<std::vector<int>> next;
    for (const auto& path : level)
      for (int rank = 0; rank < width; ++rank) {
        next.push_back(path);
        next.back().push_back(rank);
      }
    paths.insert(paths.end(), next.begin(), next.end());
    level = std::move(next);
  }
  return rank_tree(std::move(paths), {count(widths), 64});
}

struct McsdParameters : Parameters {
  std::optional<std::vector<int>> widths;
  Setting<bool> replacement = false;
};

std::optional<Mistake> inconsistent_widths(const MethodSpec& spec) {
  const auto& widths = spec.own<McsdParameters>().widths;
  if (!widths) return std::nullopt;
  if (widths->empty()) return Mistake{"/widths", "needs at least one level"};
  double nodes = 0, level = 1;
  for (const int width : *widths) nodes += level *= width;
  if (nodes > kMostNodes) return Mistake{"/widths", "more than " + std::to_string(kMostNodes) + " drafts in all"};
  if (!spec.tree() && !spec.draft_length()) return std::nullopt;
  return Mistake{"", "give \"widths\", \"tree\" or \"draft_length\", not two of them"};
}

std::unique_ptr<Method> make_mcsd(Context& c) {
  const auto& p = c.own<McsdParameters>();
  return std::make_unique<NetworkTree>(
      DraftNetwork(c),
      p.widths ? full_tree(*p.widths) : rank_plan(c, full_tree({std::min(4, most_candidates(c)), 2, 2})),
      p.replacement ? Children::drawn_with_replacement : Children::drawn);
}

}  // namespace

Entry mcsd() {
  using P = McsdParameters;
  return {
      .name = "mcsd",
      .title = "a smaller network's tree, several candidates per node",
      .source = "yang2024mcsd",
      .locator = "section 3",
      .parameters = {integers(
                         "widths", &P::widths, 1, 64,
                         {.meaning = "children per node of each level, where neither tree nor draft_length is given",
                          .usual = "[4, 2, 2]",
                          .decides = Decides::drafts,
                          .most = ranks_of}),
                     flag("replacement", &P::replacement,
                          {.meaning = "whether candidates are drawn with replacement", .decides = Decides::drafts})},
      .make = make_mcsd,
      .examples = {R"("draft": "half", "widths": [2, 2])",
                   R"("draft": "half", "widths": [3, 1, 1], "replacement": true)"},
      .lengths = {.most = 32, .trees = TreeKind::ranks},
      .draft_network = true,
      .consistent = inconsistent_widths};
}

}  // namespace draftline::methods
