// SPDX-License-Identifier: Apache-2.0
// EAGLE-3 (Li et al. 2025, section 3): for committed tokens the state is fc 3d -> d of the target's hidden states of a
// low, a middle and a high layer; for drafts it is the drafter's own last state. One decoder layer reads
// [norm(embedding), norm(state)], 2d wide, with the state as residual; its LM head has a reduced vocabulary, whose ids
// are mapped to the target's.
#include <algorithm>

#include "methods/entries.h"
#include "methods/feature_drafter.h"

namespace draftline::methods {

namespace {

class Eagle3 : public FeatureDrafter {
 public:
  Eagle3(Context& c, const DraftShape& shape, int vocabulary)
      : FeatureDrafter(c.target, shape, make_cache(c.ops, drafter_layer_shape(c.target.shape), 1, c.capacity)) {
    const int d = c.target.shape.hidden;
    shape_of_layer_ = drafter_layer_shape(c.target.shape);
    fc_ = c.weights.matrix("eagle3.fc", 3 * d, d);
    token_norm_ = c.weights.vector("eagle3.token_norm", d);
    state_norm_ = c.weights.vector("eagle3.state_norm", d);
    layer_ = make_layer(c.weights, "eagle3.layer.", shape_of_layer_, {.inputs = 2 * d, .input_norm = false});
    out_norm_ = c.weights.vector("eagle3.out_norm", d);
    head_ = c.weights.lm_head("eagle3.lm_head", d, (vocabulary + c.target.ranks - 1) / c.target.ranks);
    if (vocabulary < c.target.vocabulary()) offsets_ = c.weights.vector("eagle3.id_offsets", vocabulary);
  }
  std::vector<int> auxiliary_layers() const override {
    const int l = target_.shape.layers;
    return {std::min(2, l), l / 2, std::max(0, l - 3)};
  }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    std::vector<Tensor> states;
    for (const int layer : auxiliary_layers()) states.push_back(c.auxiliary_states.at(layer));
    const Tensor fused = ops.linear(ops.gather(states, c.path), fc_);
    const Tensor out = forward(ops, fused, c.next, ops.pass({c.rows, s.slots}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    const auto epsilon = static_cast<float>(shape_of_layer_.norm_epsilon);
    const Tensor embedded = ops.rms_norm(target_.embed(ops, tokens), token_norm_, epsilon);
    const Tensor both = ops.gather(std::vector{embedded, ops.rms_norm(hidden, state_norm_, epsilon)});
    Stream x{hidden};
    x.push(ops, self_attention(ops, both, layer_, shape_of_layer_, pass, cache_, 0, target_.ranks));
    const Tensor y = x.norm(ops, *layer_.mlp_norm, epsilon);
    x.push(ops, mlp(ops, y, layer_, shape_of_layer_, target_.ranks));
    return x.value(ops);
  }
  Tensor logits(Ops& ops, Tensor hidden) const override {
    const Tensor y = ops.rms_norm(hidden, out_norm_, static_cast<float>(shape_of_layer_.norm_epsilon));
    return ops.gather_over_ranks(ops.linear(y, head_), target_.ranks);
  }
  Tensor target_ids(Ops& ops, Tensor ids) const override { return offsets_ ? ops.map_ids(ids, *offsets_) : ids; }

 private:
  TransformerShape shape_of_layer_;
  Weight fc_, token_norm_, state_norm_, out_norm_, head_;
  std::optional<Weight> offsets_;
  LayerWeights layer_;
};

std::unique_ptr<Method> make(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const int target = c.target.vocabulary();
  const auto given = in.find("draft_vocabulary");
  const int vocabulary = given ? given->integer(1, target) : std::min(32000, target);
  return std::make_unique<Eagle3>(c, read_draft_shape(spec, vocabulary, 7), vocabulary);
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
          "draft_vocabulary (32000)",
      .make = make,
      .examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"},
      .lengths = {.most = 64, .tree_by_default = true}};
}

}  // namespace draftline::methods
