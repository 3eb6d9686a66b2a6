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
  return rank_tree(std::move(paths), {static_cast<int>(widths.size()), 64});
}

std::unique_ptr<Method> make_mcsd(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const RankLimits limits{spec.entry().lengths.most, std::min(64, c.target.shape.vocabulary)};
  std::vector<int> widths;
  if (const auto given = in.find("widths")) {
    double nodes = 0, level = 1;
    for (const Reader& w : given->items()) {
      widths.push_back(w.integer(1, limits.ranks));
      nodes += level *= widths.back();
    }
    if (widths.empty() && !given->failed()) given->fail("needs at least one level");
    if (nodes > kMostNodes) given->fail("more than " + std::to_string(kMostNodes) + " drafts in all");
    if (given->failed() || nodes > kMostNodes) widths.clear();
    if (in.has("tree") || spec.draft_length())
      in.fail("give \"widths\", \"tree\" or \"draft_length\", not two of them");
  }
  const auto replacement = in.find("replacement");
  const bool replaced = replacement && replacement->boolean();
  RankTree tree = !widths.empty()
                      ? full_tree(widths)
                      : read_rank_plan(spec, limits, full_tree({std::min(4, limits.ranks), 2, 2}), c.accepted);
  return std::make_unique<NetworkTree>(DraftNetwork(spec, c), std::move(tree),
                                       replaced ? Children::drawn_with_replacement : Children::drawn);
}

}  // namespace

Entry mcsd() {
  return {.name = "mcsd",
          .title = "a smaller network's tree, several candidates per node",
          .source = "yang2024mcsd",
          .locator = "section 3",
          .lossless = Losslessness::lossless,
          .parameters =
              "draft: a transformer of the same vocabulary; widths ([[4, 2, 2]]: children per node of each level), or "
              "tree or draft_length; replacement (false)",
          .make = make_mcsd,
          .examples = {R"("draft": "half", "widths": [2, 2])",
                       R"("draft": "half", "widths": [3, 1, 1], "replacement": true)"},
          .lengths = {.most = 32},
          .draft_network = true,
          .of_drafts = {"widths", "replacement"}};
}

}  // namespace draftline::methods
