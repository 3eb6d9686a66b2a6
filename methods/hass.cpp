// SPDX-License-Identifier: Apache-2.0
// HASS (Zhang et al. 2025): EAGLE-2's network and dynamic tree, trained on its own outputs. A pair (feature f_i of the
// target after the final norm, token x_{i+1}) goes through fc 2d -> d and one decoder layer without input norm; the
// target's LM head reads the result (METHODS.md 3.7, 3.8, 3.10).
#include "methods/entries.h"
#include "methods/feature_drafter.h"

namespace draftline::methods {

namespace {

class Hass : public FeatureDrafter {
 public:
  Hass(Context& c, const DraftShape& shape)
      : FeatureDrafter(c.target, shape, c.ops.cache(1, c.target.shape.kv_heads, c.target.shape.head_dim, c.capacity)) {
    const int d = c.target.shape.hidden;
    fc_ = c.weights.matrix("hass.fc", 2 * d, d);
    fc_bias_ = c.weights.vector("hass.fc_bias", d);
    layer_shape_ = c.target.shape;
    layer_shape_.experts.reset();
    layer_shape_.qkv_bias = layer_shape_.qk_norm = false;
    if (layer_shape_.intermediate == 0) layer_shape_.intermediate = 4 * d;
    layer_ = make_layer(c.weights, "hass.layer.", layer_shape_, {.input_norm = false});
  }
  std::vector<int> taps() const override { return {target_.shape.layers}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {  // true features: this part of the cache stays
    const Tensor feature = ops.gather(c.taps.at(target_.shape.layers), c.path);
    const Tensor out = forward(ops, feature, c.next, ops.pass({c.rows, s.seats}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor feature, Tensor tokens, PassRef pass) const override {
    Stream x{ops.linear(ops.gather(std::vector{target_.embed(ops, tokens), feature}), fc_, fc_bias_)};
    x.push(ops, self_attention(ops, x.value(ops), layer_, layer_shape_, pass, cache_, 0, target_.ranks));
    const Tensor y = x.norm(ops, *layer_.mlp_norm, static_cast<float>(layer_shape_.norm_epsilon));
    x.push(ops, mlp(ops, y, layer_, layer_shape_, target_.ranks));
    return x.value(ops);
  }
  Tensor logits(Ops& ops, Tensor feature) const override { return target_.logits(ops, feature); }

 private:
  Weight fc_, fc_bias_;
  TransformerShape layer_shape_;
  LayerWeights layer_;
};

}  // namespace

Entry hass() {
  return {"hass",
          "EAGLE-2's drafter, trained on its own outputs",
          "zhang2025hass",
          "sections 3 and 4",
          Losslessness::lossless,
          "draft_length (a chain), or tree: \"default\" (10 wide, 5 passes, 59 nodes) or {top_k, passes, nodes}",
          [](const Reader& in, Context& c) -> std::unique_ptr<Method> {
            return std::make_unique<Hass>(c, read_draft_shape(in, c.target.shape.vocabulary, 5));
          },
          {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"}};
}

}  // namespace draftline::methods
