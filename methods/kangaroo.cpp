// SPDX-License-Identifier: Apache-2.0
// Kangaroo (Liu et al. 2024, section 3; METHODS.md 3.17): the target's first layers and an adapter (norm, attention with a cache of
// its own, norm) before the target's LM head draft until unsure; verification enters behind those layers.
#include "methods/early_stop.h"
#include "methods/entries.h"
#include "methods/feature_drafter.h"

namespace draftline::methods {

namespace {

class Kangaroo : public Method {
 public:
  Kangaroo(Context& c, int exit, int length, double threshold)
      : target_(c.target),
        shape_(drafter_layer_shape(c.target.shape)),
        exit_(exit),
        length_(length),
        threshold_(threshold) {
    adapter_ = make_layer(c.weights, "kangaroo.", shape_, {.mlp = false});
    norm_ = c.weights.vector("kangaroo.norm", shape_.hidden);
    cache_ = c.ops.cache(1, shape_.kv_heads, shape_.head_dim, c.capacity);
  }
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  std::vector<int> taps() const override { return {exit_}; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) adapt(ops, c.taps.at(exit_), ops.pass({c.rows, s.seats}));  // afterwards drafting has done it
  }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences;
    EarlyStop stop;
    stop.most = length_;
    stop.goes_on = [&](std::size_t, int drafted, double probability) {
      return drafted < length_ && probability >= threshold_;
    };
    std::vector<Tensor> states;
    auto chain = draft_until(ops, s, stop, true, [&](int j, Tensor token) {
      const PassRef pass = ops.pass({ops.uniform(b, 1), s.seats, {}, j});
      Stream x{target_.embed(ops, token)};
      target_.run(ops, x, pass, layers_between(0, exit_));
      const Tensor state = s.slot(ops, "kangaroo.state." + std::to_string(j), 1, shape_.hidden, ops.activations());
      const Tensor value = x.value(ops);
      ops.store(state, value);
      states.push_back(state);
      return target_.logits(ops, adapt(ops, value, pass));
    });
    std::vector<int> each;
    for (const int n : chain.lengths) each.push_back(n + 1);
    chain.proposal.hidden = ops.gather(ops.concat_rows(states), chain_rows(ops, each, b, "kangaroo.index"));
    chain.proposal.first_layer = exit_;
    return std::move(chain.proposal);
  }

 private:
  Tensor adapt(Ops& ops, Tensor hidden, PassRef pass) const {
    const auto epsilon = static_cast<float>(shape_.norm_epsilon);
    Stream x{hidden};
    const Tensor y = x.norm(ops, *adapter_.attention_norm, epsilon);
    x.push(ops, self_attention(ops, y, adapter_, shape_, pass, cache_, 0, target_.ranks));
    return x.norm(ops, norm_, epsilon);
  }
  const Transformer& target_;
  TransformerShape shape_;
  int exit_, length_;
  double threshold_;
  LayerWeights adapter_;
  Weight norm_;
  Cache cache_;
};

}  // namespace

Entry kangaroo() {
  return {"kangaroo",
          "the target's first layers and an adapter draft, the other layers verify",
          "liu2024kangaroo",
          "section 3",
          Losslessness::lossless,
          "exit (2 layers), draft_length (6), threshold (0.6)",
          [](const Reader& in, Context& c) -> std::unique_ptr<Method> {
            const int most = std::max(1, c.target.shape.layers - 1);
            const auto exit = in.find("exit"), threshold = in.find("threshold");
            return std::make_unique<Kangaroo>(c, exit ? exit->integer(1, most) : std::min(2, most),
                                              read_draft_length(in, 6), threshold ? threshold->ratio() : 0.6);
          },
          {R"("draft_length": 4, "exit": 4, "threshold": 0.2)"}};
}

}  // namespace draftline::methods
