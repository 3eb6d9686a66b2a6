// SPDX-License-Identifier: Apache-2.0
// EAGLE-3 (Li et al. 2025, section 3): for committed tokens the state is fc 3d -> d of the target's hidden states of a
// low, a middle and a high layer; for drafts it is the drafter's own last state. One decoder layer reads
// [norm(embedding), norm(state)], 2d wide, with the state as residual; its LM head has a reduced vocabulary, whose ids
// are mapped to the target's.
#include <algorithm>

#include "methods/entries.h"
#include "methods/feature_drafter.h"
#include "methods/published_drafter.h"

namespace draftline::methods {

namespace {

class Eagle3 : public FeatureDrafter {
 public:
  Eagle3(Context& c, const DraftShape& shape, const DrafterConfig& drafter)
      : FeatureDrafter(c, shape, drafter, "eagle3."), drafter_(drafter) {
    const int d = c.target.shape.hidden, vocabulary = drafter.vocabulary;
    if (drafter.norm_before_fc) fusion_norm_ = c.weights.vector("eagle3.fusion_norm", 3 * d);
    fc_ = c.weights.matrix("eagle3.fc", 3 * d, d);
    token_norm_ = c.weights.vector("eagle3.token_norm", d);
    state_norm_ = c.weights.vector("eagle3.state_norm", d);
    layer_ = make_layer(c.weights, "eagle3.layer.", layer_shape_, {.inputs = 2 * d, .input_norm = false});
    out_norm_ = c.weights.vector("eagle3.out_norm", d);
    head_ = c.weights.lm_head("eagle3.lm_head", d, (vocabulary + c.target.ranks - 1) / c.target.ranks);
    if (vocabulary < c.target.vocabulary()) offsets_ = c.weights.vector("eagle3.id_offsets", vocabulary);
  }
  std::vector<int> auxiliary_layers() const override {
    if (!drafter_.auxiliary_layers.empty()) return drafter_.auxiliary_layers;
    const int l = target_.shape.layers;
    return {std::min(2, l), l / 2, std::max(0, l - 3)};
  }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    std::vector<Tensor> states;
    for (const int layer : auxiliary_layers()) states.push_back(c.auxiliary_states.at(layer));
    Tensor joined = ops.gather(states, c.path);
    if (fusion_norm_) joined = ops.rms_norm(joined, *fusion_norm_, epsilon());
    const Tensor out = forward(ops, ops.linear(joined, fc_), c.next, ops.pass({c.rows, s.slots}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    const Tensor embedded = ops.rms_norm(embed(ops, tokens), token_norm_, epsilon());
    const Tensor normed = ops.rms_norm(hidden, state_norm_, epsilon());
    const Tensor both = ops.gather(std::vector{embedded, normed});
    Stream x{drafter_.norm_before_residual ? normed : hidden};
    x.push(ops, self_attention(ops, both, layer_, layer_shape_, pass, cache_, 0, target_.ranks));
    const Tensor y = x.norm(ops, *layer_.mlp_norm, epsilon());
    x.push(ops, mlp(ops, y, layer_, layer_shape_, target_.ranks));
    return drafter_.normed_state ? x.norm(ops, out_norm_, epsilon()) : x.value(ops);
  }
  Tensor logits(Ops& ops, Tensor hidden) const override {
    const Tensor y = drafter_.normed_state ? hidden : ops.rms_norm(hidden, out_norm_, epsilon());
    return ops.gather_over_ranks(ops.linear(y, head_), target_.ranks);
  }
  Tensor target_ids(Ops& ops, Tensor ids) const override { return offsets_ ? ops.map_ids(ids, *offsets_) : ids; }

 private:
  DrafterConfig drafter_;
  Weight fc_, token_norm_, state_norm_, out_norm_, head_;
  std::optional<Weight> fusion_norm_, offsets_;
  LayerWeights layer_;
};

std::unique_ptr<Method> make(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const int target = c.target.vocabulary();
  DrafterConfig drafter = drafter_config(spec, c, DrafterKind::eagle3);
  const auto given = in.find("draft_vocabulary");
  if (given && in.has("checkpoint")) given->fail("the checkpoint has a vocabulary of its own");
  if (given) drafter.vocabulary = given->integer(1, target);
  else if (drafter.vocabulary == 0) drafter.vocabulary = std::min(32000, target);
  return std::make_unique<Eagle3>(c, read_draft_shape(spec, drafter.vocabulary, 7), drafter);
}

}  // namespace

Entry eagle3() {
  return {
      .name = "eagle3",
      .title = "one layer over three of the target's hidden states",
      .source = "li2025eagle3",
      .locator = "section 3",
      .lossless = Losslessness::lossless,
      .parameters =
          "draft_length (a chain), or tree: \"default\" (10 wide, 7 passes, 59 nodes) or {top_k, passes, nodes}; "
          "draft_vocabulary (32000), or checkpoint: a folder of trained weights",
      .make = make,
      .examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"},
      .lengths = {.most = 64, .tree_by_default = true},
      .checkpoint = true};
}

}  // namespace draftline::methods
