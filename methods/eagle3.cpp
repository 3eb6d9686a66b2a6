// SPDX-License-Identifier: Apache-2.0
// EAGLE-3 (Li et al. 2025, section 3): the state of committed tokens is made of the target's hidden states of three
// layers; for drafts it is the drafter's own last state. EAGLE-3.1 (Eldenk et al. 2026; `fc_norm` and `norm_output` of
// vLLM pull request 42764) normalises each of the three states before they are joined, and the drafter's state is its
// last behind the final norm, which the LM head reads too.
#include <algorithm>

#include "methods/drafting/eagle3_network.h"
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Eagle3 : public FeatureDrafter {
 public:
  Eagle3(Context& c, const DraftShape& shape, const DrafterConfig& drafter)
      : FeatureDrafter(c, shape, drafter, "eagle3."), network_(c, "eagle3.", drafter, cache_) {}
  std::vector<int> auxiliary_layers() const override { return network_.auxiliary_layers(); }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const Tensor out = forward(ops, network_.fused(ops, c), c.next, ops.pass({c.rows, s.slots}));
    ops.store(state(ops, s), ops.gather(out, c.last));
  }

 protected:
  Tensor forward(Ops& ops, Tensor hidden, Tensor tokens, PassRef pass) const override {
    return network_.forward(ops, hidden, embed(ops, tokens), pass);
  }
  Tensor logits(Ops& ops, Tensor hidden) const override { return network_.logits(ops, hidden); }
  Tensor target_ids(Ops& ops, Tensor ids) const override { return network_.target_ids(ops, ids); }

 private:
  Eagle3Network network_;
};

struct Eagle3Parameters : Parameters {
  std::optional<int> draft_vocabulary;
  Setting<int> layers = 1;
};

template <bool normed>
std::unique_ptr<Method> make_eagle3(Context& c) {
  DrafterConfig drafter = drafter_config(c);
  const auto& p = c.own<Eagle3Parameters>();
  if (!c.published) drafter.layers = p.layers;
  if (drafter.vocabulary == 0) drafter.vocabulary = p.draft_vocabulary.value_or(std::min(32000, c.target.vocabulary()));
  if (normed) drafter.norm_each_state = drafter.normed_state = true;
  return std::make_unique<Eagle3>(c, draft_shape(c.spec, std::min(kMostCandidates, drafter.vocabulary)), drafter);
}

Entry eagle3_entry(Entry e) {
  using P = Eagle3Parameters;
  e.parameters = {draft_vocabulary(&P::draft_vocabulary, "32000", /*in_checkpoint=*/true),
                  integer("layers", &P::layers, 1, 16,
                          {.meaning = "decoder layers, the first reads two states", .in_checkpoint = true})};
  e.examples = {R"("draft_length": 1)", R"("draft_length": 2, "layers": 2)", R"("draft_length": 4)",
                R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"};
  e.lengths = {.most = 64, .trees = TreeKind::grown, .passes = 7, .tree_by_default = true};
  e.checkpoint = DrafterKind::eagle3;
  e.engines.vllm = "eagle3";
  e.engines.sglang = "EAGLE3";
  return e;
}

}  // namespace

Entry eagle3() {
  return eagle3_entry({.name = "eagle3",
                       .title = "one layer over three of the target's hidden states",
                       .source = "li2025eagle3",
                       .locator = "section 3",
                       .make = make_eagle3<false>,
                       .engines = {.tensorrt_llm = "Eagle3", .llama_cpp = "draft-eagle3"}});
}

Entry eagle3_1() {
  return eagle3_entry({.name = "eagle3_1",
                       .also = {"eagle3.1"},
                       .title = "EAGLE-3 with normalised states, so that long drafts stay stable",
                       .source = "eldenk2026drift",
                       .locator = "abstract: post-norm, and a norm of each hidden state; vLLM pull request 42764",
                       .make = make_eagle3<true>});
}

}  // namespace draftline::methods
