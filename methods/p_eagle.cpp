// SPDX-License-Identifier: Apache-2.0
// P-EAGLE (arXiv 2602.01469, section 3; vLLM's `parallel_drafting`): EAGLE-3's network with more layers drafts all K
// tokens in one causal pass. Its rows are the newly committed pairs of state and token, and K - 1 pairs of a mask state
// and a mask token; the newest pair predicts the first draft, the masks the others. K -> draft_length.
#include <algorithm>

#include "methods/drafting/eagle3_network.h"
#include "methods/drafting/masked_rows.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct PEagleParameters : Parameters {
  Setting<int> layers = 4;
  std::optional<int> draft_vocabulary, mask_token;
};

DrafterConfig p_eagle_network(const Context& c) {
  DrafterConfig drafter = drafter_config(c);
  const auto& p = c.own<PEagleParameters>();
  if (!drafter.mask_token) drafter.mask_token = p.mask_token.value_or(c.target.vocabulary() - 1);
  if (c.published) return drafter;
  drafter.layers = p.layers;
  drafter.vocabulary = p.draft_vocabulary.value_or(std::min(32000, c.target.vocabulary()));
  return drafter;
}

class PEagle : public Method {
 public:
  explicit PEagle(Context& c) : PEagle(c, p_eagle_network(c)) {}
  PEagle(Context& c, const DrafterConfig& drafter)
      : target_(c.target),
        length_(c.drafts()),
        trained_(drafter.trained_drafts),
        mask_token_(*drafter.mask_token),
        cache_(make_cache(c.ops, drafter.layer, drafter.layers, c.capacity)),
        network_(c, "p_eagle.", drafter, cache_),
        mask_state_(c.weights.table("p_eagle.mask_state", 1, c.target.shape.hidden)) {
    if (drafter.own_embedding)
      embedding_ = c.weights.embedding("p_eagle.embedding", c.target.shape.vocabulary, c.target.shape.hidden);
  }
  int depth() const override { return length_; }
  std::optional<int> longest_chain() const override { return trained_; }
  std::vector<int> auxiliary_layers() const override { return network_.auxiliary_layers(); }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const MaskedRows m = masked_rows(ops, "p_eagle.rows", c, 0, length_ - 1);
    const Tensor mask = ops.embed(mask_state_, ops.constant({0}));
    const Tensor states = ops.gather(ops.concat_rows({network_.fused(ops, c), mask}), m.index);
    const Tensor tokens = ops.gather(ops.concat_rows({c.next, ops.constant({mask_token_})}), m.index);
    const Tensor out = network_.forward(ops, states, embed(ops, tokens), ops.pass({m.rows, s.slots}));
    const Tensor logits = network_.logits(ops, ops.gather(out, m.newest, 0, length_));
    ops.store(drafts(ops, s), network_.target_ids(ops, ops.argmax(logits)));
  }

  Proposal propose(Ops& ops, Session& s) override { return propose_chain(ops, s, drafts(ops, s), length_); }

 private:
  Tensor drafts(Ops& ops, const Session& s) const { return s.state(ops, "p_eagle.drafts", length_, 1, DType::int32); }
  Tensor embed(Ops& ops, Tensor tokens) const {
    if (!embedding_) return target_.embed(ops, tokens);
    return ops.sum_over_ranks(ops.embed(*embedding_, tokens), target_.ranks);
  }
  const Transformer& target_;
  int length_;
  std::optional<int> trained_;
  int mask_token_;
  Cache cache_;
  Eagle3Network network_;
  Weight mask_state_;
  std::optional<Weight> embedding_;
};

}  // namespace

Entry p_eagle() {
  using P = PEagleParameters;
  return {.name = "p_eagle",
          .title = "EAGLE-3 with masks: all drafts in one pass",
          .source = "peagle2026",
          .locator = "section 3",
          .parameters = {integer("layers", &P::layers, 1, 16, {.meaning = "decoder layers", .in_checkpoint = true}),
                         draft_vocabulary(&P::draft_vocabulary, "32000", /*in_checkpoint=*/true),
                         mask_token(&P::mask_token)},
          .make = make<PEagle>,
          .examples = {R"("draft_length": 3)", R"("draft_length": 1, "layers": 1)",
                       R"("draft_length": 4, "layers": 2, "draft_vocabulary": 7, "mask_token": 0)"},
          .lengths = {.most = 64, .usual = 5},
          .checkpoint = DrafterKind::p_eagle,
          .engines = {.vllm = "eagle3", .parallel = true}};
}

}  // namespace draftline::methods
