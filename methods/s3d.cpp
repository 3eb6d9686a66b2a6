// SPDX-License-Identifier: Apache-2.0
// S3D (Zhong and Bharadwaj 2024, section 3): the root and gamma - 1 mask tokens pass through some of the target's
// layers, over the target's KV cache, and every row predicts one draft. The cache entries of that pass are discarded.
// The target is tuned for this, and the method is lossless against the tuned target. gamma -> draft_length, or the
// depth of a tree.
#include <algorithm>

#include "methods/drafting/batch_index.h"
#include "methods/drafting/partial_target.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct S3dParameters : Parameters {
  std::optional<LayerGap> skip;
};

Field<S3dParameters> skip_field() {
  return field("skip", &S3dParameters::skip,
               {.meaning = "keeps layers 1-5 and 26-32; \"none\" keeps all", .usual = "\"5->26\" on 32 layers"},
               schema::text(), read_gap, [](const LayerGap& gap) {
                 if (gap.before == 0 && gap.behind == 1) return std::string("none");
                 return std::to_string(gap.before) + "->" + std::to_string(gap.behind);
               });
}

class S3d : public Method {
 public:
  explicit S3d(Context& c)
      : target_(c.target),
        tree_(rank_plan(c)),
        layers_(kept_layers(c.own<S3dParameters>().skip, c.target.shape.layers())),
        mask_(c.weights.table("s3d.mask", 1, c.target.shape.hidden)) {}
  int depth() const override { return tree_.tree.depth(); }
  const RankTree* tree() const override { return &tree_; }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, gamma = depth();
    std::vector<int> index;
    for (int q = 0; q < b; ++q)
      for (int j = 0; j < gamma; ++j) index.push_back(j == 0 ? q : b);
    Stream x{embed_with_masks(ops, target_, mask_, s.root, index)};
    target_.run(ops, x, ops.pass({ops.uniform(b, gamma), s.slots}), layers_);
    const Tensor logits = target_.logits(ops, target_.final_norm(ops, x));
    int most = 0;
    for (int level = 0; level < gamma; ++level) most = std::max(most, width_of_level(tree_, level));
    const Tensor best = most == 1 ? ops.argmax(logits) : Tensor(ops.top_k(logits, most).ids);
    std::vector<Tensor> candidates;
    for (int level = 0; level < gamma; ++level)
      candidates.push_back(ops.gather(best, ops.constant(BatchIndex::level(b, gamma, level))));
    return propose_ranks(ops, s, tree_, candidates);
  }

 private:
  const Transformer& target_;
  RankTree tree_;
  std::vector<LayerUse> layers_;
  Weight mask_;
};

}  // namespace

Entry s3d() {
  using P = S3dParameters;
  return {.name = "s3d",
          .title = "mask tokens through some of the target's layers",
          .source = "s3d2024",
          .locator = "section 3",
          .lossless = Losslessness::own_target,
          .parameters = {skip_field()},
          .make = make<S3d>,
          .examples = {R"("draft_length": 3, "skip": "2->5")",
                       R"("tree": {"nodes": [[0], [1], [0, 0], [1, 1], [0, 0, 2]]})"},
          .lengths = {.most = 32,
                      .usual = 4,
                      .fit =
                          [](const MethodSpec& spec, const TransformerShape& target) {
                            return beyond_positions(spec, target, spec.draft_length().value_or(0) + 1);
                          },
                      .trees = TreeKind::ranks,
                      .official = [] { return rank_chain(4); }},
          .fits = [](const Context& c) {
            if (auto wrong = wrong_gap(c.spec.own<P>().skip, c.target.shape.layers())) return wrong;
            return beyond_positions(c.spec, c.target.shape, rank_plan(c).tree.depth() + 1);
          }};
}

}  // namespace draftline::methods
