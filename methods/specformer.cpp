// SPDX-License-Identifier: Apache-2.0
// SpecFormer (Shi et al. 2026, equations 8-10): hidden states of four layers -> grouped norm -> W_D 4d -> d -> causal
// attention over the text, with its own KV cache -> W_P d -> l_d * d, all l_d positions at once -> bidirectional
// attention among these -> SwiGLU -> the target's norm and LM head. l_d -> positions, k -> draft_length. Ablations of
// Table 4: a vector per position instead of W_P; a causal mask among the drafts; wider attention and SwiGLU.
#include <algorithm>

#include "methods/drafting/feature_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

LayerShape widened(LayerShape s, int width) {
  AttentionHeads& h = std::get<HeadAttention>(s.attention).heads;
  h.heads *= width;
  h.kv_heads *= width;
  std::get<DenseMlp>(s.mlp).intermediate *= width;
  return s;
}

LayerShape without_mlp(LayerShape s) {
  s.mlp = NoMlp{};
  return s;
}

struct SpecFormerParameters : Parameters {
  std::optional<int> positions;
  Setting<bool> positional_ffn = true;  // "without" says what is left out
  Setting<bool> causal = false;
  Setting<int> width = 1;
};

int positions_of(const MethodSpec& spec) {
  return spec.own<SpecFormerParameters>().positions.value_or(std::max(spec.entry().lengths.usual, spec.drafts()));
}

class SpecFormer : public Method {
 public:
  explicit SpecFormer(Context& c)
      : target_(c.target),
        p_(c.own<SpecFormerParameters>()),
        shape_(widened(drafter_layer(c.target.shape), p_.width)),
        positions_(positions_of(c.spec)),
        length_(c.drafts()) {
    const int d = shape_.hidden;
    hook_norm_ = c.weights.vector("specformer.hook_norm", 4 * d);
    down_ = c.weights.matrix("specformer.down", 4 * d, d);
    context_ = make_layer(c.weights, "specformer.context.", without_mlp(shape_));
    expand_norm_ = c.weights.vector("specformer.expand_norm", d);
    if (p_.positional_ffn) {
      expand_ = c.weights.matrix("specformer.expand", d, positions_ * d);
      expand_bias_ = c.weights.vector("specformer.expand_bias", positions_ * d);
    } else {
      place_ = c.weights.table("specformer.place_embedding", positions_, d);
    }
    draft_ = make_layer(c.weights, "specformer.draft.", shape_);
    cache_ = make_cache(c.ops, shape_, 1, c.capacity);
  }
  int depth() const override { return length_; }
  std::vector<int> auxiliary_layers() const override {  // HS[0], HS[L/2], HS[L-1], HS[L]
    const int l = target_.shape.layers();
    return {0, l / 2, l - 1, l};
  }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    std::vector<Tensor> hooks;
    for (const int layer : auxiliary_layers()) hooks.push_back(c.auxiliary_states.at(layer));
    Stream x{ops.linear(ops.rms_norm(ops.gather(hooks, c.path), hook_norm_, epsilon(), shape_.hidden), down_)};
    add_attention(ops, x, context_, {ops.pass({c.rows, s.slots}), cache_, 0}, target_.ranks);
    ops.store(state(ops, s), ops.gather(x.value(ops), c.last));
  }

  Proposal propose(Ops& ops, Session& s) override {
    const AttentionHeads& h = shape_.heads()->heads;
    const int b = s.sequences, q = h.q_columns(), kv = h.k_columns();
    Stream x{expanded(ops, ops.rms_norm(state(ops, s), expand_norm_, epsilon()))};
    const Tensor qkv = ops.linear(x.norm(ops, *draft_.attention_norm, epsilon()), draft_.qkv);
    const Tensor mixed = ops.group_attend(columns(qkv, 0, q), columns(qkv, q, kv), columns(qkv, q + kv, kv), positions_,
                                          h.head_dim, p_.causal);
    x.push(ops, ops.sum_over_ranks(ops.linear(mixed, draft_.o), target_.ranks));
    if (length_ < positions_) {  // only the states of used positions are needed
      std::vector<int> index;
      for (int i = 0; i < b; ++i)
        for (int j = 0; j < length_; ++j) index.push_back(i * positions_ + j);
      x = {ops.gather(x.value(ops), ops.constant(index))};
    }
    add_mlp(ops, x, draft_, target_.ranks);
    return propose_chain(ops, s, ops.argmax(target_.logits(ops, target_.final_norm(ops, x))), length_);
  }

 private:
  // The states of all positions, from one state of each sequence.
  Tensor expanded(Ops& ops, Tensor x) const {
    if (expand_) return reshape(ops.linear(x, *expand_, expand_bias_), x.rows * positions_, shape_.hidden);
    std::vector<int> row, place;
    for (int i = 0; i < x.rows; ++i)
      for (int j = 0; j < positions_; ++j) {
        row.push_back(i);
        place.push_back(j);
      }
    return ops.add(ops.gather(x, ops.constant(row)), ops.embed(*place_, ops.constant(place)));
  }
  float epsilon() const { return epsilon_of(shape_); }
  Tensor state(Ops& ops, const Session& s) const {
    return s.state(ops, "specformer.state", 1, shape_.hidden, ops.activations());
  }
  const Transformer& target_;
  SpecFormerParameters p_;
  LayerShape shape_;
  int positions_, length_;
  Weight hook_norm_, down_, expand_norm_;
  std::optional<Weight> expand_, expand_bias_, place_;
  LayerWeights context_, draft_;
  Cache cache_;
};

std::optional<Mistake> beyond_heads(const MethodSpec& spec) {
  if (spec.drafts() <= positions_of(spec)) return std::nullopt;
  return Mistake{"", "\"draft_length\" can't exceed \"positions\""};
}

constexpr NamedValues<bool, 2> kWithoutFfn{{{"nothing", true}, {"positional_ffn", false}}};

}  // namespace

Entry specformer() {
  using P = SpecFormerParameters;
  return {.name = "specformer",
          .title = "all positions at once, attention both ways among them",
          .source = "shi2026",
          .locator = "equations 8-10",
          .parameters = {integer("positions", &P::positions, 1, 32,
                                 {.meaning = "positions that its heads draft", .usual = "8"}),
                         choice("without", &P::positional_ffn, kWithoutFfn,
                                {.meaning = "or \"positional_ffn\", an ablation"}),
                         flag("causal", &P::causal, {.meaning = "an ablation"}),
                         integer("width", &P::width, 1, 8,
                                 {.meaning = "an ablation: of heads and SwiGLU, in those of the target's layers"})},
          .make = make<SpecFormer>,
          .examples = {R"("draft_length": 3, "positions": 5)", R"("draft_length": 5, "positions": 5)",
                       R"("draft_length": 3, "positions": 4, "without": "positional_ffn")",
                       R"("draft_length": 3, "positions": 4, "causal": true)",
                       R"("draft_length": 3, "positions": 4, "width": 2)"},
          .lengths = {.most = 32, .usual = 8},
          .consistent = beyond_heads};
}

}  // namespace draftline::methods
