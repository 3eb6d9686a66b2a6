// SPDX-License-Identifier: Apache-2.0
// The assistants of Gemma 4 (Google DeepMind 2026; transformers' gemma4_assistant, vLLM's Gemma4MTP): a few narrow
// layers that have queries alone, and attend to the keys and values of the target's last layer of their own kind, with
// a window or without. Their input is the embedding of the last token beside the target's last state, or beside the
// state that they predicted for the draft before. All drafts are made at one position, the first uncommitted one, over
// what is committed: so an assistant keeps no cache, and has nothing to do with prompts.
#include <array>

#include "methods/drafting/batch_index.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct AssistantParameters : Parameters {
  Setting<int> hidden = 1024, intermediate = 8192, layers = 4;
};

// Layers as Google's assistants have them: the last sees the whole text, those before it windows.
DrafterConfig described(const AssistantParameters& p, const Transformer& target) {
  const int heads = target.shape.usual_heads().heads;
  const LayerShape whole = llama_layer(p.hidden, {heads, heads}, share_of(p.intermediate, target.ranks));
  LayerShape windowed = whole;
  std::get<HeadAttention>(windowed.attention).window = TextWindow{};
  const bool any_whole = last_alike(target.shape, whole).has_value(),
             any_window = last_alike(target.shape, windowed).has_value();
  DrafterConfig d;
  d.kind = DrafterKind::gemma4_assistant;
  d.network.hidden = p.hidden;
  d.network.intermediate = whole.dense_mlp()->intermediate;
  for (int i = 1; i < p.layers; ++i) d.network.add_layer(any_whole && !any_window ? whole : windowed);
  d.network.add_layer(any_whole ? whole : windowed);
  return d;
}

DrafterConfig assistant_of(const Context& c) {
  return c.published ? *c.published : described(c.spec.own<AssistantParameters>(), c.target);
}

class Gemma4Assistant : public Method {
 public:
  explicit Gemma4Assistant(Context& c) : target_(c.target), length_(c.drafts()) {
    WeightStore& w = c.weights;
    const DrafterConfig drafter = assistant_of(c);
    epsilon_ = static_cast<float>(drafter.network.norm_epsilon);
    const TransformerShape &t = c.target.shape, &own = drafter.network;
    pre_ = w.matrix("assistant.pre", 2 * t.hidden, own.hidden);
    for (int i = 0; i < own.layers(); ++i) {
      const auto of = last_alike(t, own.layer(i));
      AttentionHeads h = t.layer(*of).heads()->heads;
      h.heads = own.layer(i).heads()->heads.heads;
      const std::string name = "assistant.layers." + std::to_string(i) + ".";
      const auto norm = [&](const char* which) { return w.vector(name + which, own.hidden); };
      layers_.push_back(
          {.of = *of,
           .q = w.attention(name + "q", own.hidden, h.q_columns()),
           .q_norm = w.vector(name + "q_norm", h.head_dim),
           .o = w.attention(name + "o", h.result_columns(), own.hidden),
           .gate_up = w.matrix(name + "gate_up", own.hidden, 2 * own.intermediate),
           .down = w.matrix(name + "down", own.intermediate, own.hidden),
           .scale = w.vector(name + "scale", 1),
           .norms = {norm("input_norm"), norm("attention_post_norm"), norm("mlp_norm"), norm("mlp_post_norm")}});
    }
    out_norm_ = w.vector("assistant.out_norm", own.hidden);
    head_ = w.lm_head("assistant.lm_head", own.hidden, t.vocabulary);
    post_ = w.matrix("assistant.post", own.hidden, t.hidden);
  }
  int depth() const override { return length_; }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }
  bool reads_what_is_committed() const override { return true; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    ops.store(state(ops, s), ops.gather(c.auxiliary_states.at(target_.shape.layers()), c.last_row));
  }

  Proposal propose(Ops& ops, Session& s) override {
    // A pass whose one row stands at the first uncommitted position, and one whose row sees what lies before it alone.
    const PassRef here = ops.pass({ops.uniform(s.sequences, 1), s.slots});
    const PassRef before = ops.pass({ops.uniform(s.sequences, 1), s.slots, {}, -1});
    Tensor token = s.root, state_now = state(ops, s);
    std::vector<Tensor> drafts;
    for (int j = 0; j < length_; ++j) {
      const Tensor both = ops.gather(std::vector{target_.embed(ops, token), state_now});
      const Tensor out = forward(ops, ops.linear(both, pre_), here, before);
      drafts.push_back(ops.argmax(ops.gather_over_ranks(ops.linear(out, head_), target_.ranks)));
      token = drafts.back();
      if (j + 1 < length_) state_now = ops.linear(out, post_);
    }
    return propose_chain(
        ops, s, ops.gather(ops.concat_rows(drafts), ops.constant(BatchIndex::interleave(s.sequences, length_))),
        length_);
  }

 private:
  struct Layer {
    int of;  // the target's layer whose keys and values it reads
    Weight q, q_norm, o, gate_up, down, scale;
    std::array<Weight, 4> norms;  // before and behind the attention, before and behind the MLP
  };

  Tensor forward(Ops& ops, Tensor h, PassRef here, PassRef before) const {
    const TransformerShape& t = target_.shape;
    Stream x{h};
    for (const Layer& l : layers_) {
      const HeadAttention& a = *t.layer(l.of).heads();
      auto [cache, in_cache, in_states] = target_.cache_of(l.of);
      // Transformers measures an assistant's window from the newest key on, so that it sees one more than the target.
      if (a.window && !a.window->chunked) ++cache.window.tokens;
      const Tensor q =
          ops.rms_norm(ops.linear(x.norm(ops, l.norms[0], epsilon_), l.q), l.q_norm, epsilon_, a.heads.head_dim);
      const Tensor seen = ops.attend(ops.rotate(q, a.rope, here, cache), {before, cache, in_cache}, a.query_scale);
      x.push(ops, ops.rms_norm(ops.sum_over_ranks(ops.linear(seen, l.o), target_.ranks), l.norms[1], epsilon_));
      const Tensor wide = ops.gelu_mul(ops.linear(x.norm(ops, l.norms[2], epsilon_), l.gate_up));
      x.push(ops, ops.rms_norm(ops.sum_over_ranks(ops.linear(wide, l.down), target_.ranks), l.norms[3], epsilon_));
      x.scale(ops, l.scale);
    }
    return x.norm(ops, out_norm_, epsilon_);
  }
  Tensor state(Ops& ops, const Session& s) const {
    return s.state(ops, "assistant.state", 1, target_.shape.hidden, ops.activations());
  }

  const Transformer& target_;
  int length_;
  float epsilon_;
  std::vector<Layer> layers_;
  Weight pre_, out_norm_, head_, post_;
};

std::optional<Mistake> wrong_heads(const TransformerShape& target, const DrafterConfig& d) {
  if (target.latent() != nullptr)
    return Mistake{"", "an assistant attends to keys and values of heads, and the target's are latent"};
  for (const LayerShape& own : d.network.kinds) {
    const int heads = own.heads()->heads.heads;
    const auto of = last_alike(target, own);
    if (!of)
      return Mistake{"", own.sees_all() ? "no layer of the target sees the whole text, as one of the assistant does"
                                        : "no layer of the target has a window, as one of the assistant has"};
    if (const int kv = target.layer(*of).heads()->heads.kv_heads; heads % kv != 0)
      return Mistake{"", "the assistant's " + std::to_string(heads) + " heads are not a multiple of the target's " +
                             std::to_string(kv) + " KV heads"};
  }
  return std::nullopt;
}

// What its queries and the target's keys must have alike.
std::optional<Mistake> wrong_positions(const TransformerShape& target, const TransformerShape& own) {
  for (const LayerShape& layer : own.kinds) {
    const auto of = last_alike(target, layer);
    if (!of || target.layer(*of).heads() == nullptr) continue;
    const LayerShape& alike = target.layer(*of);
    const Rope &mine = *layer.rope(), &theirs = *alike.rope();
    const char* wrong = !(layer.window() == alike.window())                            ? "sliding_window"
                        : mine.theta == theirs.theta && mine.scaling == theirs.scaling ? nullptr
                        : layer.window()                                               ? "rope in layers with a window"
                                                                                       : "rope";
    if (wrong != nullptr)
      return Mistake{"/checkpoint", "the assistant's " + std::string(wrong) + " is not the target's"};
  }
  return std::nullopt;
}

std::optional<Mistake> unfit_assistant(const Context& c) {
  const DrafterConfig drafter = assistant_of(c);
  if (auto wrong = wrong_heads(c.target.shape, drafter)) return wrong;
  return c.published ? wrong_positions(c.target.shape, drafter.network) : std::nullopt;
}

}  // namespace

Entry gemma4_assistant() {
  using P = AssistantParameters;
  return {.name = "gemma4_assistant",
          .also = {"gemma4_mtp"},
          .title = "narrow layers that read the target's keys and values, and keep none",
          .source = "gemma2026",
          .locator = "the assistants beside each model",
          .parameters = {integer("hidden", &P::hidden, 1, 1 << 16,
                                 {.meaning = "columns of its hidden state", .in_checkpoint = true}),
                         integer("intermediate", &P::intermediate, 1, 1 << 18,
                                 {.meaning = "columns of its MLP", .in_checkpoint = true}),
                         integer("layers", &P::layers, 1, 64, {.meaning = "its layers", .in_checkpoint = true})},
          .make = make<Gemma4Assistant>,
          .examples = {R"("draft_length": 3, "hidden": 24, "intermediate": 40)",
                       R"("draft_length": 1, "hidden": 16, "intermediate": 24, "layers": 1)"},
          .lengths = {.most = 64, .usual = 3},
          .checkpoint = DrafterKind::gemma4_assistant,
          .engines = {.vllm = "mtp", .llama_cpp = "draft-mtp"},
          .fits = unfit_assistant};
}

}  // namespace draftline::methods
