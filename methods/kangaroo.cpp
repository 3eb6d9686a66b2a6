// SPDX-License-Identifier: Apache-2.0
// Kangaroo (Liu et al. 2024, section 3): the target's first layers, an adapter (norm, attention with its own KV cache,
// norm) and the target's LM head draft until the confidence is low. Verification reuses the early layers' hidden states
// and runs only the later layers. The last draft does not pass through the adapter, so that the adapter's first pass of
// a step has two rows, [newest committed token, root].
#include <algorithm>

#include "methods/drafting/batch_index.h"
#include "methods/drafting/early_stop.h"
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/partial_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct KangarooParameters : Parameters {
  std::optional<int> exit;
  Setting<double> threshold = 0.6;
};

int most_layers(const Target& t) { return std::max(1, t.shape.layers() - 1); }
int exit_of(const Context& c) {
  const int most = most_layers(c.limits());
  const int official = std::clamp((2 * c.target.shape.layers() + 15) / 30, 1, most);  // the authors'
  return exit_layer(c.own<KangarooParameters>().exit, c.target.shape, official, most);
}

class Kangaroo : public Method {
 public:
  explicit Kangaroo(Context& c)
      : target_(c.target),
        shape_(native_drafter_layer(c.target.shape)),
        exit_(exit_of(c)),
        length_(c.drafts()),
        threshold_(c.own<KangarooParameters>().threshold) {
    shape_.mlp = NoMlp{};
    adapter_ = make_layer(c.weights, "kangaroo.", shape_);
    norm_ = c.weights.vector("kangaroo.norm", shape_.hidden);
    cache_ = make_cache(c.ops, shape_, 1, c.capacity);
  }
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  std::vector<int> auxiliary_layers() const override { return {exit_}; }
  int rewrites() const override { return 1; }
  std::optional<Answers> answers(const std::vector<int>& drafts) const override {
    if (threshold_ == 0) return std::nullopt;
    return stopping_answers(drafts, length_, false);
  }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor early = c.auxiliary_states.at(exit_);
    if (c.prefill) adapt(ops, early, ops.pass({c.rows, s.slots}));  // later the drafting passes do it
    ops.store(state(ops, s, "newest"), ops.gather(early, c.last_row));
  }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences;
    EarlyStop stop;
    stop.most = stop.usual = length_;
    stop.goes_on = [&](std::size_t, int drafted, double probability) {
      return drafted < length_ && probability >= threshold_;
    };
    const auto pairs = BatchIndex::interleave(b, 2), second = BatchIndex::level(b, 2, 1);
    std::vector<Tensor> states;
    const auto early = [&](int j, Tensor token, PassRef pass) {
      Stream x{target_.embed(ops, token)};
      target_.run(ops, x, pass, layers_between(0, exit_));
      const Tensor value = x.value(ops);
      states.push_back(state(ops, s, std::to_string(j)));
      ops.store(states.back(), value);
      return value;
    };
    auto chain = draft_until(
        ops, s, stop,
        [&](int j, Tensor token) {
          const PassRef pass = ops.pass({ops.uniform(b, 1), s.slots, {}, j});
          const Tensor value = early(j, token, pass);
          if (j > 0) return target_.logits(ops, adapt(ops, value, pass));
          const Tensor both = ops.gather(ops.concat_rows({state(ops, s, "newest"), value}), ops.constant(pairs));
          const Tensor adapted = adapt(ops, both, ops.pass({ops.uniform(b, 2), s.slots, {}, -1}));
          return target_.logits(ops, ops.gather(adapted, ops.constant(second)));
        },
        [&](int j, Tensor token) {
          early(j, token, ops.pass({ops.uniform(b, 1), s.slots, {}, j}));
        });
    std::vector<int> each;
    for (const int n : chain.lengths) each.push_back(n + 1);
    chain.proposal.hidden = ops.gather(ops.concat_rows(states), chain_rows(ops, each, b, "kangaroo.index"));
    chain.proposal.first_layer = exit_;
    return std::move(chain.proposal);
  }

 private:
  Tensor state(Ops& ops, const Session& s, const std::string& which) const {  // output of the early layers
    return s.state(ops, "kangaroo.state." + which, 1, shape_.hidden, ops.activations());
  }
  Tensor adapt(Ops& ops, Tensor hidden, PassRef pass) const {
    Stream x{hidden};
    add_attention(ops, x, adapter_, {pass, cache_, 0}, target_.ranks);
    return x.norm(ops, norm_, epsilon_of(shape_));
  }
  const Transformer& target_;
  LayerShape shape_;
  int exit_, length_;
  double threshold_;
  LayerWeights adapter_;
  Weight norm_;
  Cache cache_;
};

}  // namespace

Entry kangaroo() {
  using P = KangarooParameters;
  return {.name = "kangaroo",
          .title = "the target's first layers and an adapter draft, the other layers verify",
          .source = "liu2024kangaroo",
          .locator = "section 3",
          .parameters = {integer("exit", &P::exit, 1, 1 << 20,
                                 {.meaning = "layers that draft",
                                  .usual = "a fifteenth of the layers: 2 of 32, 3 of 40",
                                  .most = most_layers}),
                         share("threshold", &P::threshold, {.meaning = "the confidence below which drafting ends"})},
          .make = make<Kangaroo>,
          .examples = {R"("draft_length": 4, "exit": 4, "threshold": 0.2)"},
          .lengths = {.most = 64, .usual = 6},
          .fits = [](const Context& c) {
            return wrong_exit(c.spec.own<P>().exit, c.target.shape, most_layers(c.limits()));
          }};
}

}  // namespace draftline::methods
