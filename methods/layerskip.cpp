// SPDX-License-Identifier: Apache-2.0
// LayerSkip (Elhoushi et al. 2024, section 4): the target's first `exit` layers, with its final norm and LM head,
// draft. Verification runs only the later layers and reuses the hidden states and KV cache of the first. The target was
// trained with layer dropout and early-exit losses.
#include "methods/drafting/batch_index.h"
#include "methods/drafting/partial_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class LayerSkip : public Method {
 public:
  LayerSkip(Context& c, int exit, int length) : target_(c.target), exit_(exit), length_(length) {}
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
  return {.name = "layerskip",
          .title = "the target's first layers draft, the others verify",
          .source = "elhoushi2024",
          .locator = "section 4",
          .lossless = Losslessness::own_target,
          .parameters = "exit (a quarter of the layers; all: every draft is the target's own), draft_length (6)",
          .make = [](const MethodSpec& spec, Context& c) -> std::unique_ptr<Method> {
            const Reader& in = spec.in();
            const int layers = c.target.shape.layers();
            return std::make_unique<LayerSkip>(c, read_exit(in, c.target.shape, std::max(1, layers / 4), layers),
                                               spec.draft_length().value_or(6));
          },
          .examples = {R"("draft_length": 3, "exit": 5)"},
          .lengths = {.most = 64}};
}

}  // namespace draftline::methods
