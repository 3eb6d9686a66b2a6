// SPDX-License-Identifier: Apache-2.0
// Hydra and Hydra++ (Ankner et al. 2024, sections 3 and 4): head i reads the last hidden state and the embeddings of
// the root and the drafts before it, (i + 2) d wide, and has residual blocks and its own LM head. Heads run on the path
// of each node of a static tree. In Hydra++ a decoder layer over the hidden states gives the state.
#include <algorithm>

#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/drafting/static_tree.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// The tree of Medusa's code that Hydra keeps, "mc_sim_7b_63": nodes per depth 10, 28, 23, 2.
RankTree hydra_tree() {
  std::vector<std::vector<int>> paths;
  const auto add = [&](std::vector<int> stem, int ranks) {
    for (int r = 0; r < ranks; ++r) {
      paths.push_back(stem);
      paths.back().push_back(r);
    }
  };
  add({}, 10);
  const int second[] = {10, 7, 3, 2, 1, 1, 1, 1, 1, 1}, third[] = {10, 3, 2, 1, 1, 1, 1, 1};
  for (int r = 0; r < 10; ++r) add({r}, second[r]);
  for (int r = 0; r < 8; ++r) add({0, r}, third[r]);
  add({1, 0}, 2);
  add({2, 0}, 1);
  add({0, 0, 0}, 2);
  return rank_tree(std::move(paths), {4, 10});
}

class Hydra : public Method {
 public:
  Hydra(Context& c, bool plus)
      : target_(c.target), shape_(native_drafter_layer(c.target.shape)), tree_(rank_plan(c)), plus_(plus) {
    const int d = shape_.hidden;
    const std::string name = plus ? "hydra_plus." : "hydra.";
    for (int i = 0; i < depth(); ++i) {
      const std::string head = name + std::to_string(i) + ".";
      Head h{c.weights.matrix(head + "skip", (i + 2) * d, d),
             c.weights.matrix(head + "in", (i + 2) * d, d),
             c.weights.vector(head + "skip_bias", d),
             c.weights.vector(head + "in_bias", d),
             {},
             {},
             c.weights.lm_head(head + "lm_head", d, target_.shape.vocabulary)};
      if (plus) {
        h.block = c.weights.matrix(head + "block", d, d);
        h.block_bias = c.weights.vector(head + "block_bias", d);
      }
      heads_.push_back(h);
    }
    if (!plus) return;
    prefix_ = make_layer(c.weights, name + "prefix.", shape_);
    cache_ = make_cache(c.ops, shape_, 1, c.capacity);
  }
  int depth() const override { return tree_.depth(); }
  const RankTree* tree() const override { return &tree_.ranks(); }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor hidden = c.auxiliary_states.at(target_.shape.layers());
    if (!plus_) {
      ops.store(state(ops, s), ops.gather(hidden, c.last_row));
      return;
    }
    Stream x{ops.gather(hidden, c.path)};
    add_attention(ops, x, prefix_, ops.pass({c.rows, s.slots}), {cache_}, target_.ranks);
    add_mlp(ops, x, prefix_, target_.ranks);
    ops.store(state(ops, s), ops.gather(x.value(ops), c.last));
  }

  Proposal propose(Ops& ops, Session& s) override {
    Tensor context = state(ops, s);
    return tree_.draft(ops, s, Children::best, [&](int level, Tensor tokens) {
      if (level > 0) context = ops.gather(context, tree_.parents(ops, s.sequences, level));
      context = ops.gather(std::vector{context, target_.embed(ops, tokens)});
      const Head& h = heads_[level];
      Tensor z = ops.silu_add(ops.linear(context, h.skip, h.skip_bias), ops.linear(context, h.in, h.in_bias));
      constexpr int kFurtherBlocks = 3;  // further blocks with the same weights: a four-layer MLP
      if (h.block)
        for (int i = 0; i < kFurtherBlocks; ++i) z = ops.silu_add(z, ops.linear(z, *h.block, h.block_bias));
      return ops.gather_over_ranks(ops.linear(z, h.lm_head), target_.ranks);
    });
  }

 private:
  struct Head {
    Weight skip, in, skip_bias, in_bias;
    std::optional<Weight> block, block_bias;
    Weight lm_head;
  };
  Tensor state(Ops& ops, const Session& s) const {
    return s.state(ops, "hydra.state", 1, shape_.hidden, ops.activations());
  }
  const Transformer& target_;
  LayerShape shape_;
  StaticTree tree_;
  bool plus_;
  IntVector<Head> heads_;
  LayerWeights prefix_;
  Cache cache_;
};

Entry hydra_entry(Entry e) {
  e.source = "ankner2024";
  e.examples = {R"("draft_length": 3)", R"("tree": {"nodes": [[0], [1], [2], [0, 0], [0, 1], [1, 0], [0, 0, 0]]})"};
  e.lengths = {.most = 16,
               .trees = TreeKind::ranks,
               .official = hydra_tree,
               .tree_by_default = true,
               .meaning = "a chain of heads"};
  return e;
}

}  // namespace

Entry hydra() {
  return hydra_entry({.name = "hydra",
                      .title = "heads that read the drafts before them",
                      .locator = "section 3",
                      .make = make<Hydra, false>});
}

Entry hydra_plus() {
  return hydra_entry({.name = "hydra_plus",
                      .title = "Hydra with a layer over the text and deeper heads",
                      .locator = "section 4",
                      .make = make<Hydra, true>});
}

}  // namespace draftline::methods
