// SPDX-License-Identifier: Apache-2.0
// DDTree (Ringel and Romano 2026, abstract): the block drafter of DFlash, whose one pass gives a distribution for each
// position. A tree of the likeliest prefixes, by the product of these probabilities, is verified at once; the paper's
// node budget is `budget`. The paper's search by a heap is exact. Here the best `top_k` nodes of a level continue, each
// with its `top_k` best tokens, so that the size of every tensor is fixed; with fewer nodes in a level both trees are
// equal. The defaults of both parameters are ours: the paper takes the best budget for each network and task.
#include <algorithm>

#include "methods/drafting/block_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kMostWidth = 16, kMostBudget = 1023;

struct DdTreeParameters : BlockParameters {
  Setting<int> budget = 32, top_k = 8;
};

int widest(const Target& t) { return std::min(kMostWidth, t.vocabulary); }

class DdTree : public BlockDrafter {
 public:
  explicit DdTree(Context& c)
      : BlockDrafter(c, "dflash.", block_shape(c)),
        width_(std::min({c.own<DdTreeParameters>().top_k.value, columns_of_logits(), c.target.vocabulary()})),
        nodes_(std::min(c.own<DdTreeParameters>().budget.value, width_ + (length_ - 1) * width_ * width_)) {}
  int depth() const override { return std::min(length_, nodes_); }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, masks = block_.block - 1, words = (length_ * width_ + 31) / 32;
    TopK best = ops.top_k(logits(ops, mask_states(ops, s)), width_);
    best.ids = head_.target_ids(ops, best.ids);
    Tensor score = ops.constant({0}, 1, b), node = ops.constant({-1}, 1, b);
    Tensor tree_mask = ops.constant(std::vector<int>(at(words)), words, b);
    std::vector<Tensor> tokens, scores, parents;
    for (int level = 0, rows = 1, first = 0; level < depth(); ++level) {
      std::vector<int> of_level;  // every node of a level has the same candidates
      for (int q = 0; q < b; ++q) of_level.insert(of_level.end(), at(rows), q * masks + level);
      const Tensor index = ops.constant(of_level);
      TopK candidates = best;
      candidates.ids = ops.gather(best.ids, index);
      candidates.log_probs = ops.gather(best.log_probs, index);
      const ExpandTree e = ops.expand_tree(candidates, {score, node, tree_mask}, {rows, width_, first, level * width_});
      tokens.push_back(e.tokens);
      scores.push_back(e.scores);
      parents.push_back(e.parents);
      score = e.next_score;
      node = e.next_node;
      tree_mask = e.next_tree_mask;
      first += rows * width_;
      rows = width_;
    }
    const SelectTree t = ops.select_tree(tokens, scores, parents, s.root, nodes_ + 1);
    return {.rows = ops.uniform(b, nodes_ + 1),
            .tokens = t.y,
            .parents = t.parent,
            .tree_mask = t.tree_mask,
            .depth = depth()};
  }

 private:
  int width_, nodes_;
};

}  // namespace

Entry ddtree() {
  using P = DdTreeParameters;
  return {.name = "ddtree",
          .title = "a tree of the likeliest drafts of DFlash's block",
          .source = "ringel2026",
          .locator = "abstract",
          .parameters = block_parameters<P>(
              {.root_predicts = false},
              {integer("budget", &P::budget, 1, kMostBudget, {.meaning = "drafts of the tree, which are verified"}),
               integer("top_k", &P::top_k, 1, kMostWidth,
                       {.meaning = "nodes of a level that continue, and tokens of each", .most = widest})}),
          .make = make<DdTree>,
          .examples = {R"("draft_length": 3, "layers": 2, "budget": 6, "top_k": 3)",
                       R"("draft_length": 2, "block_size": 5, "layers": 1, "budget": 12, "top_k": 2)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 15, .meaning = "levels of the tree"},
          .checkpoint = DrafterKind::dflash,
          .consistent = inconsistent_block,
          .fits = unfit_block};
}

}  // namespace draftline::methods
