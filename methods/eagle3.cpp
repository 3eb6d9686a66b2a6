// SPDX-License-Identifier: Apache-2.0
// EAGLE-3 (Li et al. 2025, section 3): the state of committed tokens is made of the target's hidden states of three
// layers; for drafts it is the drafter's own last state.
#include "methods/eagle3_network.h"
#include "methods/entries.h"
#include "methods/feature_drafter.h"
#include "methods/published_drafter.h"

namespace draftline::methods {

namespace {

class Eagle3 : public FeatureDrafter {
 public:
  Eagle3(Context& c, const DraftShape& shape, const DrafterConfig& drafter)
      : FeatureDrafter(c, shape, drafter, "eagle3."), network_(c, "eagle3.", 1, drafter, cache_) {}
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

std::unique_ptr<Method> make(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  DrafterConfig drafter = drafter_config(spec, c, DrafterKind::eagle3);
  const auto given = in.find("draft_vocabulary");
  if (given && in.has("checkpoint")) given->fail("the checkpoint has a vocabulary of its own");
  if (given || drafter.vocabulary == 0) drafter.vocabulary = read_draft_vocabulary(spec, c.target);
  return std::make_unique<Eagle3>(c, read_draft_shape(spec, drafter.vocabulary, 7), drafter);
}

}  // namespace

Entry eagle3() {
  return {
      .name = "eagle3",
      .title = "one layer over three of the target's hidden states",
      .source = "li2025eagle3",
      .locator = "section 3",
      .lossless = Losslessness::lossless,
      .parameters =
          "draft_length (a chain), or tree: \"default\" (10 wide, 7 passes, 59 nodes) or {top_k, passes, nodes}; "
          "draft_vocabulary (32000), or checkpoint: a folder of trained weights",
      .make = make,
      .examples = {R"("draft_length": 1)", R"("draft_length": 4)", R"("tree": {"top_k": 3, "passes": 3, "nodes": 11})"},
      .lengths = {.most = 64, .tree_by_default = true},
      .checkpoint = true};
}

}  // namespace draftline::methods
