// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction with the sequential module of DeepSeek-V3 (2024, section 2.2): the concatenated norms of the
// next token's embedding and of the state, 2d -> d, one decoder layer, its own norm, the target's LM head. One module
// is applied repeatedly for more drafts; of several (MiMo-V2, Step-3.5, MiniMax-M3) each makes the state of one draft
// from that of the module before it, and the last one is repeated. All of them take in the committed tokens, one
// behind the other, each into a cache of its own (SGLang: multi-layer EAGLE). The first state is the target's after
// its final norm. Its layer is as the target's last: with latent attention and a mixture of experts where that has
// them; MiMo-V2's has a window and a dense MLP. Its indexer is its own, also where the target's last layer shares the
// choice of another.
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

struct MtpParameters : Parameters {
  Setting<int> modules = 1;
};

DrafterConfig module_of(const Context& c) {
  if (c.published) return *c.published;
  DrafterConfig drafter;
  drafter.layers = c.own<MtpParameters>().modules;
  drafter.layer = module_layer(c.target.shape);
  return drafter;
}

class MtpSequential : public FeatureDrafter {
 public:
  explicit MtpSequential(Context& c)
      : FeatureDrafter(c, draft_shape(c.spec, most_candidates(c)), module_of(c), "mtp.") {
    for (int i = 0; i < drafter_.layers; ++i)
      modules_.push_back(make_module(c.weights, i == 0 ? "mtp." : "mtp." + std::to_string(i) + "."));
  }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    Tensor hidden = ops.gather(c.auxiliary_states.at(target_.shape.layers()), c.path);
    const PassRef pass = ops.pass({c.rows, s.slots});
    for (int i = 0; i < modules_.size(); ++i) {
      hidden = through(ops, i, hidden, c.next, pass);
      if (i == 0) ops.store(state(ops, s), ops.gather(hidden, c.last));
    }
  }

 protected:
  // Draft i + 2 is made by module i + 1, which has stored none of the drafts before it; the last module has its own.
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    const int last = modules_.size() - 1;
    if (last == 0) return through(ops, 0, hidden, tokens, pass);
    Pass own = ops.details(pass);
    const int module = std::min(own.tail + 1, last);
    own.tail -= module - 1;
    return through(ops, module, hidden, tokens, ops.pass(own));
  }
  Tensor logits(Ops& ops, Tensor hidden) const override {  // of the first module's norm: all read the target's head
    return target_.logits(ops, drafter_.normed_state ? hidden : ops.rms_norm(hidden, modules_[0].out_norm, epsilon()));
  }

 private:
  struct Module {
    Weight token_norm, state_norm, join;
    Weight out_norm = {};
    LayerWeights layer = {};
  };
  Module make_module(WeightStore& store, const std::string& prefix) const {
    const int d = drafter_.layer.hidden;
    Module m{.token_norm = store.vector(prefix + "token_norm", d),
             .state_norm = store.vector(prefix + "state_norm", d),
             .join = store.matrix(prefix + "join", 2 * d, d)};
    store.native_layers(drafter_.layer.experts() != nullptr);
    m.layer = make_layer(store, prefix + "layer.", drafter_.layer);
    store.native_layers(false);
    m.out_norm = store.vector(prefix + "out_norm", d);
    return m;
  }
  Tensor through(Ops& ops, int module, Tensor hidden, Tensor tokens, PassRef pass) const {
    const Module& m = modules_[module];
    const Tensor embedded = ops.rms_norm(embed(ops, tokens), m.token_norm, epsilon());
    Stream x{ops.linear(ops.gather(std::vector{embedded, ops.rms_norm(hidden, m.state_norm, epsilon())}), m.join)};
    add_attention(ops, x, m.layer, {pass, cache_, module}, target_.ranks);
    add_mlp(ops, x, m.layer, target_.ranks, ops.sequences(pass));
    return drafter_.normed_state ? x.norm(ops, m.out_norm, epsilon()) : x.value(ops);
  }
  IntVector<Module> modules_;
};

std::optional<Mistake> modules_mistake(const Context& c) {
  const int modules = c.own<MtpParameters>().modules;
  if (modules == 1) return std::nullopt;
  if (c.spec.tree()) return Mistake{"/modules", "must be 1 with a tree: each module makes one draft of a chain"};
  if (c.published) return Mistake{"/modules", "must be 1 with a checkpoint: only its first module can be loaded"};
  return std::nullopt;
}

}  // namespace

Entry mtp_sequential() {
  return {
      .name = "mtp_sequential",
      .also = {"mtp", "nextn", "deepseek_mtp"},
      .title = "a decoder layer that continues the target's state, token by token",
      .source = "deepseek2024",
      .locator = "section 2.2",
      .parameters = {integer("modules", &MtpParameters::modules, 1, 64,
                             {.meaning = "modules, each of which makes one draft; the last one all further drafts"})},
      .make = make<MtpSequential>,
      .examples = {R"("draft_length": 1)", R"("draft_length": 3)", R"("draft_length": 3, "modules": 2)",
                   R"("tree": {"top_k": 2, "passes": 2, "nodes": 6})"},
      .lengths = {.most = 64, .usual = 1, .trees = TreeKind::grown, .passes = 5},
      .checkpoint = DrafterKind::mtp,
      .engines = {.vllm = "mtp", .sglang = "NEXTN", .tensorrt_llm = "MTP", .llama_cpp = "draft-mtp", .in_target = true},
      .fits = modules_mistake};
}

}  // namespace draftline::methods
