// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction with parallel heads (Gloeckle et al. 2024, section 2): for each further token the input of the
// target's last layer passes through a decoder layer of its own; final norm and LM head are the target's.
#include <algorithm>

#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class MtpHeads : public Method {
 public:
  explicit MtpHeads(Context& c) : target_(c.target), shape_(native_drafter_layer(c.target.shape)), tree_(rank_plan(c)) {
    for (int i = 0; i < depth(); ++i)
      layers_.push_back(make_layer(c.weights, "mtp_heads." + std::to_string(i) + ".", shape_));
    cache_ = make_cache(c.ops, shape_, depth(), c.capacity);
  }
  int depth() const override { return tree_.tree.depth(); }
  const RankTree* tree() const override { return &tree_; }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers() - 1}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor trunk = ops.gather(c.auxiliary_states.at(target_.shape.layers() - 1), c.path);
    const PassRef pass = ops.pass({c.rows, s.slots});
    for (int i = 0; i < depth(); ++i) {
      Stream x{trunk};
      add_attention(ops, x, layers_[i], pass, {cache_, i}, target_.ranks);
      x = {ops.gather(x.value(ops), c.last)};  // the MLP needs only the last row
      add_mlp(ops, x, layers_[i], target_.ranks);
      ops.store(state(ops, s, i), target_.final_norm(ops, x));
    }
  }

  Proposal propose(Ops& ops, Session& s) override {
    std::vector<Tensor> candidates;
    for (int i = 0; i < depth(); ++i) {
      const Tensor logits = target_.logits(ops, state(ops, s, i));
      const int width = width_of_level(tree_, i);
      candidates.push_back(width == 1 ? ops.argmax(logits) : Tensor(ops.top_k(logits, width).ids));
    }
    return propose_ranks(ops, s, tree_, candidates);
  }

 private:
  Tensor state(Ops& ops, const Session& s, int head) const {
    return s.state(ops, "mtp_heads.state." + std::to_string(head), 1, shape_.hidden, ops.activations());
  }
  const Transformer& target_;
  LayerShape shape_;
  RankTree tree_;
  IntVector<LayerWeights> layers_;
  Cache cache_;
};

}  // namespace

Entry mtp_heads() {
  return {.name = "mtp_heads",
          .title = "a decoder layer for each token further ahead, side by side",
          .source = "gloeckle2024",
          .locator = "section 2",
          .lossless = Losslessness::own_target,
          .make = make<MtpHeads>,
          .examples = {R"("draft_length": 3)", R"("tree": {"nodes": [[0], [1], [0, 0], [0, 1], [1, 0]]})"},
          .lengths = {.most = 16, .usual = 3, .trees = TreeKind::ranks, .official = [] { return rank_chain(3); }}};
}

}  // namespace draftline::methods
