// SPDX-License-Identifier: Apache-2.0
// EAGLE-3 (Li et al. 2025, section 3): for committed tokens the state is fc 3d -> d of the target's hidden states of a
// low, a middle and a high layer; for drafts it is the drafter's own last state. One decoder layer reads
// [norm(embedding), norm(state)], 2d wide, with the state as residual; its LM head has a reduced vocabulary, whose ids
// are mapped to the target's. EAGLE-3.1 (Eldenk et al. 2026; `fc_norm` and `norm_output` of vLLM pull request 42764)
// normalises each of the three states before fc, and the drafter's state is its last behind the final norm, which the
// LM head reads too.
#include <algorithm>

#include "methods/draft_head.h"
#include "methods/entries.h"
#include "methods/feature_drafter.h"

namespace draftline::methods {

namespace {

class Eagle3 : public FeatureDrafter {
 public:
  enum class Version : std::uint8_t { eagle3, eagle3_1 };
  Eagle3(Context& c, const DraftShape& shape, int vocabulary, Version version)
      : FeatureDrafter(c.target, shape, c.ops.cache(1, c.target.shape.kv_heads, c.target.shape.head_dim, c.capacity)) {
    const int d = c.target.shape.hidden;
    shape_of_layer_ = drafter_layer_shape(c.target.shape);
    if (version == Version::eagle3_1) fc_norm_ = c.weights.vector("eagle3.fc_norm", 3 * d);
    fc_ = c.weights.matrix("eagle3.fc", 3 * d, d);
    token_norm_ = c.weights.vector("eagle3.token_norm", d);
    state_norm_ = c.weights.vector("eagle3.state_norm", d);
    layer_ = make_layer(c.weights, "eagle3.layer.", shape_of_layer_, {.inputs = 2 * d, .input_norm = false});
    out_norm_ = c.weights.vector("eagle3.out_norm", d);
    head_ = DraftHead(c.target, c.weights, "eagle3.", vocabulary);
  }
  std::vector<int> auxiliary_layers() const override {
    const int l = target_.shape.layers;
    return {std::min(2, l), l / 2, std::max(0, l - 3)};
  }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    std::vector<Tensor> states;
    for (const int layer : auxiliary_layers()) states.push_back(c.auxiliary_states.at(layer));
    Tensor all = ops.gather(states, c.path);
    if (fc_norm_) all = ops.rms_norm(all, *fc_norm_, epsilon(), target_.shape.hidden);  // each state by itself
    const Tensor fused = ops.linear(all, fc_);
    const Tensor out = forward(ops, fused, c.next, ops.pass({c.rows, s.slots}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    const Tensor embedded = ops.rms_norm(target_.embed(ops, tokens), token_norm_, epsilon());
    const Tensor both = ops.gather(std::vector{embedded, ops.rms_norm(hidden, state_norm_, epsilon())});
    Stream x{hidden};
    x.push(ops, self_attention(ops, both, layer_, shape_of_layer_, pass, cache_, 0, target_.ranks));
    const Tensor y = x.norm(ops, *layer_.mlp_norm, epsilon());
    x.push(ops, mlp(ops, y, layer_, shape_of_layer_, target_.ranks));
    return fc_norm_ ? x.norm(ops, out_norm_, epsilon()) : x.value(ops);
  }
  Tensor logits(Ops& ops, Tensor hidden) const override {
    return head_.logits(ops, target_, fc_norm_ ? hidden : ops.rms_norm(hidden, out_norm_, epsilon()));
  }
  Tensor target_ids(Ops& ops, Tensor ids) const override { return head_.target_ids(ops, ids); }

 private:
  float epsilon() const { return static_cast<float>(shape_of_layer_.norm_epsilon); }
  TransformerShape shape_of_layer_;
  Weight fc_, token_norm_, state_norm_, out_norm_;
  std::optional<Weight> fc_norm_;  // of EAGLE-3.1
  DraftHead head_;
  LayerWeights layer_;
};

template <Eagle3::Version version>
std::unique_ptr<Method> make(const MethodSpec& spec, Context& c) {
  const int vocabulary = read_draft_vocabulary(spec, c.target).value_or(std::min(32000, c.target.vocabulary()));
  return std::make_unique<Eagle3>(c, read_draft_shape(spec, vocabulary, 7), vocabulary, version);
}

// What both have.
Entry entry() {
  Entry e;
  e.lossless = Losslessness::lossless;
  e.parameters =
      "draft_length (a chain), or tree: \"default\" (10 wide, 7 passes, 59 nodes) or {top_k, passes, nodes}; "
      "draft_vocabulary (32000)";
  e.examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"};
  e.lengths = {.most = 64, .tree_by_default = true};
  return e;
}

}  // namespace

Entry eagle3() {
  Entry e = entry();
  e.name = "eagle3";
  e.title = "one layer over three of the target's hidden states";
  e.source = "li2025eagle3";
  e.locator = "section 3";
  e.make = make<Eagle3::Version::eagle3>;
  return e;
}

Entry eagle3_1() {
  Entry e = entry();
  e.name = "eagle3_1";
  e.also = "eagle3.1";
  e.title = "EAGLE-3 with normalised states, so that long drafts stay stable";
  e.source = "eldenk2026drift";
  e.locator = "abstract: post-norm, and a norm of each hidden state; vLLM pull request 42764";
  e.make = make<Eagle3::Version::eagle3_1>;
  return e;
}

}  // namespace draftline::methods
