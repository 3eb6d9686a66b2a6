// SPDX-License-Identifier: Apache-2.0
// LayerSkip (Elhoushi et al. 2024, section 4): the target's first `exit` layers, with its final norm and LM head,
// draft. Verification runs only the later layers and reuses the hidden states and KV cache of the first. The target was
// trained with layer dropout and early-exit losses.
#include "methods/drafting/batch_index.h"
#include "methods/drafting/partial_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct LayerSkipParameters : Parameters {
  std::optional<int> exit;
};

class LayerSkip : public Method {
 public:
  explicit LayerSkip(Context& c)
      : target_(c.target),
        exit_(exit_layer(c.own<LayerSkipParameters>().exit, c.target.shape, std::max(1, c.target.shape.layers() / 4),
                         c.target.shape.layers())),
        length_(c.drafts()) {}
  int depth() const override { return length_; }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences;
    std::vector<Tensor> tokens{s.root}, states;
    for (int j = 0; j <= length_; ++j) {  // the last draft also passes through the early layers
      Stream x{target_.embed(ops, tokens.back())};
      target_.run(ops, x, ops.pass({ops.uniform(b, 1), s.slots, {}, j}), layers_between(0, exit_));
      states.push_back(x.value(ops));
      if (j < length_) tokens.push_back(ops.argmax(target_.logits(ops, target_.final_norm(ops, x))));
    }
    const Tensor order = ops.constant(BatchIndex::interleave(b, length_ + 1));
    Proposal p{.rows = ops.uniform(b, length_ + 1),
               .tokens = ops.gather(ops.concat_rows(tokens), order),
               .parents = ops.constant(TokenTree::chain(length_).parents(), 1, b),
               .depth = length_};
    p.hidden = ops.gather(ops.concat_rows(states), order);
    p.first_layer = exit_;
    return p;
  }

 private:
  const Transformer& target_;
  int exit_, length_;
};

}  // namespace

Entry layerskip() {
  using P = LayerSkipParameters;
  return {.name = "layerskip",
          .title = "the target's first layers draft, the others verify",
          .source = "elhoushi2024",
          .locator = "section 4",
          .lossless = Losslessness::own_target,
          .parameters = {integer("exit", &P::exit, 1, 1 << 20,
                                 {.meaning = "layers that draft; all: every draft is the target's own",
                                  .usual = "a quarter of the layers",
                                  .most = [](const Target& t) { return t.shape.layers(); }})},
          .make = make<LayerSkip>,
          .examples = {R"("draft_length": 3, "exit": 5)"},
          .lengths = {.most = 64, .usual = 6},
          .fits = [](const Context& c) {
            return wrong_exit(c.spec.own<P>().exit, c.target.shape, c.target.shape.layers());
          }};
}

}  // namespace draftline::methods
