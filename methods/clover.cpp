// SPDX-License-Identifier: Apache-2.0
// Clover (Xiao et al. 2024, section 3): a decoder layer over the text (augmenting block) gives h_0. For each level,
// h_i = h_{i-1} + gate * value of the last token, followed by a residual block and the target's LM head. The gate is
// the cosine of state and token as in the authors' later code, as the printed softmax over one key is always 1. Tokens
// use the target's embedding. The tree has `nodes` nodes, upper levels first, within a nucleus and a share of the best.
#include <algorithm>

#include "methods/drafting/feature_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr double kNucleus = 0.8, kLeastShare = 0.25;  // as in the authors' code

// The parts that the paper's ablation removes one after the other.
enum class Without { nothing, attention_decoder, regressive_connection, augmenting_block };

struct CloverParameters : Parameters {
  Setting<int> nodes = 4;
  Setting<Without> without = Without::nothing;
};

class Clover : public Method {
 public:
  explicit Clover(Context& c)
      : target_(c.target),
        shape_(native_drafter_layer(c.target.shape)),
        levels_(c.drafts()),
        nodes_(c.own<CloverParameters>().nodes),
        without_(c.own<CloverParameters>().without) {
    const int d = shape_.hidden;
    if (without_ < Without::augmenting_block) {
      augment_ = make_layer(c.weights, "clover.augment.", shape_);
      cache_ = make_cache(c.ops, shape_, 1, c.capacity);
    }
    if (without_ == Without::nothing) {
      norm_ = c.weights.vector("clover.norm", d);
      q_ = c.weights.matrix("clover.q", d, d);
      k_ = c.weights.matrix("clover.k", d, d);
    }
    if (without_ < Without::regressive_connection) v_ = c.weights.matrix("clover.v", d, d);
    for (int i = 0; i < levels_; ++i) {
      const std::string head = "clover." + std::to_string(i) + ".";
      heads_.push_back({c.weights.matrix(head + "w", d, d), c.weights.vector(head + "b", d)});
    }
  }
  int depth() const override { return levels_; }
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor hidden = c.auxiliary_states.at(target_.shape.layers());
    if (without_ == Without::augmenting_block) {
      ops.store(state(ops, s), ops.gather(hidden, c.last_row));
      return;
    }
    Stream x{ops.gather(hidden, c.path)};
    add_attention(ops, x, augment_, ops.pass({c.rows, s.slots}), {cache_}, target_.ranks);
    x = {ops.gather(x.value(ops), c.last)};
    add_mlp(ops, x, augment_, target_.ranks);
    ops.store(state(ops, s), x.value(ops));
  }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, width = std::min(nodes_, target_.shape.vocabulary), words = (levels_ * width + 31) / 32;
    Tensor hidden = state(ops, s), token = s.root;
    Tensor score = ops.constant({0}, 1, b), node = ops.constant({-1}, 1, b);
    Tensor tree_mask = ops.constant(std::vector<int>(at(words)), words, b);
    std::vector<Tensor> tokens, scores, parents;
    for (int level = 0, rows = 1, first = 0; level < levels_; ++level) {
      hidden = advance(ops, hidden, token);
      const Head& h = heads_[level];
      const Tensor z = ops.silu_add(hidden, ops.linear(hidden, h.w, h.b));
      TopK best = ops.top_k(target_.logits(ops, z), width);
      best.log_probs = ops.clip_top_k(best.log_probs, kNucleus, kLeastShare);
      const ExpandTree e = ops.expand_tree(best, {score, node, tree_mask}, {rows, width, first, level * width});
      tokens.push_back(e.tokens);
      scores.push_back(e.scores);
      parents.push_back(e.parents);
      hidden = ops.gather(hidden, e.row);
      token = e.token;
      score = e.next_score;
      node = e.next_node;
      tree_mask = e.next_tree_mask;
      first += rows * width;
      rows = width;
    }
    const SelectTree t = ops.select_tree(tokens, scores, parents, s.root, nodes_ + 1, true);
    return {.rows = ops.uniform(b, nodes_ + 1),
            .tokens = t.y,
            .parents = t.parent,
            .tree_mask = t.tree_mask,
            .depth = std::min(levels_, nodes_)};
  }

 private:
  struct Head {
    Weight w, b;
  };
  // The state after one more token.
  Tensor advance(Ops& ops, Tensor hidden, Tensor token) const {
    if (without_ >= Without::regressive_connection) return hidden;
    const Tensor embedded = target_.embed(ops, token), value = ops.linear(embedded, *v_);
    if (without_ == Without::attention_decoder) return ops.add(hidden, value);
    const Tensor q = ops.linear(ops.rms_norm(hidden, *norm_, epsilon_of(shape_)), *q_), k = ops.linear(embedded, *k_);
    const int head = target_.shape.usual_heads().head_dim, columns = shape_.hidden % head == 0 ? head : shape_.hidden;
    return ops.add(hidden, ops.cosine_gate(q, k, value, columns));
  }
  Tensor state(Ops& ops, const Session& s) const {
    return s.state(ops, "clover.state", 1, shape_.hidden, ops.activations());
  }
  const Transformer& target_;
  LayerShape shape_;
  int levels_, nodes_;
  Without without_;
  LayerWeights augment_;
  Cache cache_;
  std::optional<Weight> norm_, q_, k_, v_;
  IntVector<Head> heads_;
};

constexpr NamedValues<Without, 4> kWithout{{{"nothing", Without::nothing},
                                            {"attention_decoder", Without::attention_decoder},
                                            {"regressive_connection", Without::regressive_connection},
                                            {"augmenting_block", Without::augmenting_block}}};

}  // namespace

Entry clover() {
  using P = CloverParameters;
  return {.name = "clover",
          .title = "heads that attend to the drafts before them, a small tree",
          .source = "xiao2024",
          .locator = "section 3",
          .parameters = {integer("nodes", &P::nodes, 1, 64, {.meaning = "drafts"}),
                         choice("without", &P::without, kWithout,
                                {.meaning = "\"attention_decoder\", then also \"regressive_connection\", then also "
                                            "\"augmenting_block\""})},
          .make = make<Clover>,
          .examples = {R"("draft_length": 3)", R"("draft_length": 2, "nodes": 3, "without": "attention_decoder")",
                       R"("draft_length": 2, "without": "regressive_connection")",
                       R"("draft_length": 2, "without": "augmenting_block")"},
          .lengths = {.most = 16, .usual = 3, .meaning = "levels of the tree"}};
}

}  // namespace draftline::methods
