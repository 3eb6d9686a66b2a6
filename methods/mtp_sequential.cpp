// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction with the sequential module of DeepSeek-V3 (2024, section 2.2): the concatenated norms of the
// next token's embedding and of the state, 2d -> d, one decoder layer, its own norm, the target's LM head. The one
// module is applied repeatedly for more drafts. The first state is the target's after its final norm. Its layer is as
// the target's last: with latent attention and a mixture of experts where that has them; MiMo-V2's has a window and a
// dense MLP. Its indexer is its own, also where the target's last layer shares the choice of another.
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/rank_proposal.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

// A dense target's module is a plain layer of the target's width, with the gate or the indexer that its attention has.
LayerShape module_layer(const TransformerShape& target) {
  if (target.mtp_layer) return *target.mtp_layer;
  LayerShape s = target.usual_layer();
  const LayerShape& last = target.layer(target.layers() - 1);
  if (std::holds_alternative<Experts>(last.mlp)) {
    s.mlp = last.mlp;
    s.norms = NormPlacement::before;
    if (auto* a = std::get_if<HeadAttention>(&s.attention)) {
      if (a->rope.columns == 0)  // it rotates as layers do that have a rope (Llama 4)
        for (const LayerShape& kind : target.kinds)
          if (const HeadAttention* rotated = kind.heads(); rotated != nullptr && rotated->rope.columns > 0)
            *a = *rotated;
      a->window.reset();
    }
    return s;
  }
  LayerShape plain = native_drafter_layer(target);
  if (auto* a = std::get_if<HeadAttention>(&plain.attention)) a->output_gate = s.heads()->output_gate;
  if (auto* a = std::get_if<LatentHeads>(&plain.attention)) a->dims.indexer = s.latent()->dims.indexer;
  return plain;
}

DrafterConfig module_of(const Context& c) {
  if (c.published) return *c.published;
  DrafterConfig drafter;
  drafter.layer = module_layer(c.target.shape);
  return drafter;
}

class MtpSequential : public FeatureDrafter {
 public:
  explicit MtpSequential(Context& c)
      : FeatureDrafter(c, draft_shape(c.spec, most_candidates(c)), module_of(c), "mtp.") {
    const int d = drafter_.layer.hidden;
    token_norm_ = c.weights.vector("mtp.token_norm", d);
    state_norm_ = c.weights.vector("mtp.state_norm", d);
    join_ = c.weights.matrix("mtp.join", 2 * d, d);
    c.weights.native_layers(drafter_.layer.experts() != nullptr);
    layer_ = make_layer(c.weights, "mtp.layer.", drafter_.layer);
    c.weights.native_layers(false);
    out_norm_ = c.weights.vector("mtp.out_norm", d);
  }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor hidden = ops.gather(c.auxiliary_states.at(target_.shape.layers()), c.path);
    const Tensor out = forward(ops, hidden, c.next, ops.pass({c.rows, s.slots}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    const Tensor embedded = ops.rms_norm(embed(ops, tokens), token_norm_, epsilon());
    Stream x{ops.linear(ops.gather(std::vector{embedded, ops.rms_norm(hidden, state_norm_, epsilon())}), join_)};
    add_attention(ops, x, layer_, pass, {cache_}, target_.ranks);
    add_mlp(ops, x, layer_, target_.ranks, ops.sequences(pass));
    return drafter_.normed_state ? x.norm(ops, out_norm_, epsilon()) : x.value(ops);
  }
  Tensor logits(Ops& ops, Tensor hidden) const override {
    return target_.logits(ops, drafter_.normed_state ? hidden : ops.rms_norm(hidden, out_norm_, epsilon()));
  }

 private:
  Weight token_norm_, state_norm_, join_, out_norm_;
  LayerWeights layer_;
};

}  // namespace

Entry mtp_sequential() {
  return {
      .name = "mtp_sequential",
      .also = {"mtp", "nextn", "deepseek_mtp"},
      .title = "a decoder layer that continues the target's state, token by token",
      .source = "deepseek2024",
      .locator = "section 2.2",
      .make = make<MtpSequential>,
      .examples = {R"("draft_length": 1)", R"("draft_length": 3)", R"("tree": {"top_k": 2, "passes": 2, "nodes": 6})"},
      .lengths = {.most = 64, .usual = 1, .trees = TreeKind::grown, .passes = 5},
      .checkpoint = DrafterKind::mtp,
      .engines = {
          .vllm = "mtp", .sglang = "NEXTN", .tensorrt_llm = "MTP", .llama_cpp = "draft-mtp", .in_target = true}};
}

}  // namespace draftline::methods
