// SPDX-License-Identifier: Apache-2.0
// EAGLE (Li et al. 2024, sections 3 and 4): its network drafts a tree of fixed shape level by level. Sampled
// text draws a node's children without replacement, but of a reduced vocabulary the best ones.
#include "methods/drafting/eagle.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/drafting/static_tree.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// The tree of the authors' code, choices.py "mc_sim_7b_63": nodes per depth 4, 8, 8, 3, 2.
RankTree eagle_tree() {
  return rank_tree({{0},
                    {1},
                    {2},
                    {3},
                    {0, 0},
                    {0, 1},
                    {0, 2},
                    {1, 0},
                    {1, 1},
                    {2, 0},
                    {2, 1},
                    {3, 0},
                    {0, 0, 0},
                    {0, 0, 1},
                    {0, 0, 2},
                    {0, 1, 0},
                    {0, 1, 1},
                    {0, 2, 0},
                    {0, 2, 1},
                    {1, 0, 0},
                    {0, 0, 0, 0},
                    {0, 0, 0, 1},
                    {0, 0, 0, 2},
                    {0, 0, 0, 0, 0},
                    {0, 0, 0, 0, 1}},
                   {5, 4});
}

class Eagle1 : public Eagle {
 public:
  explicit Eagle1(Context& c) : Eagle(c, "eagle1.", {}), tree_(rank_plan(c)) {}
  int depth() const override { return tree_.depth(); }
  const RankTree* tree() const override { return &tree_.ranks(); }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences;
    Tensor feature = state(ops, s);
    const auto network = [&](int level, Tensor tokens) {
      if (level > 0) {
        const PassRef pass = ops.pass(
            {ops.uniform(b, tree_.rows(level)), s.slots, tree_.tree_mask(ops, b, level, 1), tree_.first(level) - 1});
        feature = forward(ops, ops.gather(feature, tree_.parents(ops, b, level)), tokens, pass);
      }
      return logits(ops, feature);
    };
    return tree_.draft(ops, s, reduced() ? Children::best : Children::drawn, network,
                       [&](Tensor ids) { return target_ids(ops, ids); });
  }

 private:
  StaticTree tree_;
};

}  // namespace

Entry eagle1() {
  return {.name = "eagle1",
          .title = "one layer that continues the target's features, and a static tree",
          .source = "li2024eagle",
          .locator = "sections 3 and 4",
          .parameters = head_parameters("the target's head"),
          .make = make<Eagle1>,
          .examples = {R"("draft_length": 3)", R"("draft_length": 3, "draft_vocabulary": 9)",
                       R"("tree": {"nodes": [[0], [1], [2], [0, 0], [0, 1], [1, 0], [0, 0, 0], [0, 0, 0, 0]]})"},
          .lengths = {.most = 32, .trees = TreeKind::ranks, .official = eagle_tree, .tree_by_default = true},
          .checkpoint = DrafterKind::eagle,
          .engines = {.vllm = "eagle", .sglang = "EAGLE"}};
}

}  // namespace draftline::methods
