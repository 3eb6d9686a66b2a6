// SPDX-License-Identifier: Apache-2.0
// Medusa-1 (Cai et al. 2024, section 3): head i computes z = h + SiLU(W_i h + b_i) from the last hidden state h and,
// with its own LM head, predicts the token i + 2 positions later. All heads run at once; their candidates form a fixed
// Cartesian tree. The heads run only on the last accepted row.
#include <algorithm>

#include "core/int_indexed.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// The tree of the authors' code for a 7B target, medusa_choices.py "vicuna_7b_stage2": nodes per depth 10, 23, 23, 7.
std::vector<std::vector<int>> medusa_tree() {
  return {{0},          {1},          {2},          {3},          {4},          {5},          {6},         {7},
          {8},          {9},          {0, 0},       {0, 1},       {0, 2},       {0, 3},       {0, 4},      {0, 5},
          {0, 6},       {0, 7},       {0, 8},       {0, 9},       {1, 0},       {1, 1},       {1, 2},      {1, 3},
          {1, 4},       {2, 0},       {2, 1},       {3, 0},       {3, 1},       {4, 0},       {5, 0},      {6, 0},
          {7, 0},       {0, 0, 0},    {0, 0, 1},    {0, 0, 2},    {0, 0, 3},    {0, 0, 4},    {0, 0, 5},   {0, 0, 6},
          {0, 0, 7},    {0, 0, 8},    {0, 1, 0},    {0, 1, 1},    {0, 1, 2},    {0, 1, 3},    {0, 2, 0},   {0, 2, 1},
          {0, 3, 0},    {0, 4, 0},    {0, 5, 0},    {1, 0, 0},    {1, 0, 1},    {1, 0, 2},    {1, 1, 0},   {2, 0, 0},
          {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 2}, {0, 0, 0, 3}, {0, 0, 1, 0}, {0, 0, 2, 0}, {0, 1, 0, 0}};
}

class Medusa : public Method {
 public:
  Medusa(Context& c, std::optional<Relaxed> typical) : target_(c.target), tree_(rank_plan(c)), typical_(typical) {
    const TransformerShape& s = target_.shape;
    const int blocks = c.published ? c.published->blocks : 1;  // residual blocks of each head
    if (c.published) trained_heads_ = c.published->heads;
    for (int i = 0; i < depth(); ++i) {
      const std::string name = "medusa." + std::to_string(i) + ".";
      Head head;
      for (int block = 0; block < blocks; ++block) {
        const std::string own = block == 0 ? name : name + std::to_string(block) + ".";
        head.blocks.push_back({c.weights.matrix(own + "w", s.hidden, s.hidden), c.weights.vector(own + "b", s.hidden)});
      }
      head.lm_head = c.weights.lm_head(name + "lm_head", s.hidden, s.vocabulary);
      heads_.push_back(std::move(head));
    }
  }
  int depth() const override { return tree_.tree.depth(); }
  std::optional<int> longest_chain() const override { return trained_heads_; }
  const RankTree* tree() const override { return &tree_; }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    ops.store(hidden(ops, s), ops.gather(c.auxiliary_states.at(target_.shape.layers()), c.last_row));
  }

  Proposal propose(Ops& ops, Session& s) override {
    const Tensor h = hidden(ops, s);
    std::vector<Tensor> candidates;
    for (int i = 0; i < heads_.size(); ++i) {
      Tensor z = h;
      for (const Block& block : heads_[i].blocks) z = ops.silu_add(z, ops.linear(z, block.w, block.b));
      const Tensor logits = ops.gather_over_ranks(ops.linear(z, heads_[i].lm_head), target_.ranks);
      const int width = width_of_level(tree_, i);
      candidates.push_back(width == 1 ? ops.argmax(logits) : Tensor(ops.top_k(logits, width).ids));
    }
    Proposal p = propose_ranks(ops, s, tree_, candidates);
    if (!s.sampling.greedy()) p.relaxed = typical_;  // at temperature 0 only the target's best token is typical
    return p;
  }

 private:
  struct Block {
    Weight w, b;
  };
  struct Head {
    std::vector<Block> blocks;
    Weight lm_head;
  };
  Tensor hidden(Ops& ops, const Session& s) const {
    return s.state(ops, "medusa.hidden", 1, target_.shape.hidden, ops.activations());
  }
  const Transformer& target_;
  RankTree tree_;
  IntVector<Head> heads_;
  std::optional<int> trained_heads_;
  std::optional<Relaxed> typical_;
};

RankTree official_tree() { return rank_tree(medusa_tree(), {4, 10}); }

struct TypicalParameters : Parameters {
  Setting<double> epsilon = 0.09, delta = 0.3;
};

std::optional<Mistake> lacks_heads(const Context& c) {
  if (!c.published) return std::nullopt;
  const int levels = rank_plan(c).tree.depth(), heads = c.published->heads;
  if (levels <= heads) return std::nullopt;
  return Mistake{"/checkpoint",
                 "has " + std::to_string(heads) + " heads, and " + std::to_string(levels) + " levels are drafted"};
}

Entry medusa_entry(Entry e) {
  e.source = "cai2024";
  e.lengths = {.most = 16,
               .trees = TreeKind::ranks,
               .official = official_tree,
               .tree_by_default = true,
               .meaning = "a chain of heads"};
  e.checkpoint = DrafterKind::medusa;
  e.fits = lacks_heads;
  return e;
}

}  // namespace

Entry medusa() {
  return medusa_entry(
      {.name = "medusa",
       .title = "parallel heads and a static tree",
       .locator = "section 3.1",
       .make = [](Context& c) { return std::make_unique<Medusa>(c, std::nullopt); },
       .examples = {R"("draft_length": 3)", R"("tree": {"nodes": [[0], [1], [2], [0, 0], [0, 1], [1, 0], [0, 0, 0]]})"},
       .engines = {.vllm = "medusa"}});
}

Entry medusa_typical() {
  using P = TypicalParameters;
  return medusa_entry(
      {.name = "medusa_typical",
       .title = "Medusa, sampled text by typical acceptance; greedy text is the target's",
       .locator = "typical acceptance",
       .lossless = Losslessness::lossy,
       .parameters = {share("epsilon", &P::epsilon, {.meaning = "a draft is accepted from this probability on"}),
                      share("delta", &P::delta, {.meaning = "or from this times exp(-entropy) on"})},
       .make =
           [](Context& c) {
             const auto& p = c.own<P>();
             return std::make_unique<Medusa>(c, Relaxed{Relaxed::Kind::typical, p.epsilon, p.delta});
           },
       .examples = {R"("tree": {"nodes": [[0], [1], [0, 0], [1, 0], [0, 0, 1]]}, "epsilon": 0.05)"}});
}

}  // namespace draftline::methods
