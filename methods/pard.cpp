// SPDX-License-Identifier: Apache-2.0
// PARD (An et al. 2025, arXiv 2504.18583, section 3; vLLM's `parallel_drafting` of a draft model): a draft network that
// was tuned to predict behind masks drafts all K tokens in one causal pass. Its rows are the newly committed tokens,
// the root, and K - 1 mask tokens; the root's row predicts the first draft, the masks the others. K -> draft_length.
#include "methods/drafting/draft_network.h"
#include "methods/drafting/masked_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct PardParameters : Parameters {
  std::optional<int> mask_token;
};

class Pard : public Method {
 public:
  explicit Pard(Context& c)
      : draft_(c),
        length_(c.drafts()),
        mask_token_(c.own<PardParameters>().mask_token.value_or(c.target.vocabulary() - 1)) {}
  int depth() const override { return length_; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const MaskedRows m = masked_rows(ops, "pard.rows", c, 1, length_ - 1);
    const Tensor all = ops.concat_rows({ops.gather(c.fed, c.path), c.bonus, ops.constant({mask_token_})});
    const Tensor states = draft_.states(ops, ops.gather(all, m.index), ops.pass({m.rows, s.slots}));
    ops.store(drafts(ops, s), ops.argmax(draft_.logits(ops, ops.gather(states, m.newest, 0, length_))));
  }

  Proposal propose(Ops& ops, Session& s) override { return propose_chain(ops, s, drafts(ops, s), length_); }

 private:
  Tensor drafts(Ops& ops, const Session& s) const { return s.state(ops, "pard.drafts", length_, 1, DType::int32); }
  DraftNetwork draft_;
  int length_, mask_token_;
};

}  // namespace

Entry pard() {
  return {.name = "pard",
          .title = "a smaller network with masks: all drafts in one pass",
          .source = "pard2025",
          .locator = "section 3",
          .parameters = {mask_token(&PardParameters::mask_token)},
          .make = make<Pard>,
          .examples = {R"("draft": "half", "draft_length": 3)", R"("draft": "half", "draft_length": 1)",
                       R"("draft": "half", "draft_length": 4, "mask_token": 0)"},
          .lengths = {.most = 64, .usual = 8},
          .draft_network = true,
          .engines = {.vllm = "draft_model", .tensorrt_llm = "PARD", .parallel = true}};
}

}  // namespace draftline::methods
