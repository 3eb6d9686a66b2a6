// SPDX-License-Identifier: Apache-2.0
// DFlash (Chen et al. 2026, section 4): a block of the root and K masks goes through the block drafter in one pass, and
// each mask's row predicts one draft. K + 1 -> block_size, the drafts that are verified -> draft_length.
#include "methods/drafting/block_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class DFlash : public BlockDrafter {
 public:
  explicit DFlash(Context& c) : BlockDrafter(c, "dflash.", block_shape(c)) {}

  Proposal propose(Ops& ops, Session& s) override {
    const Tensor best = ops.argmax(logits(ops, mask_states(ops, s)));
    return propose_chain(ops, s, head_.target_ids(ops, best), length_);
  }
};

}  // namespace

Entry dflash() {
  return {.name = "dflash",
          .title = "a block of masks in one pass over the target's states",
          .source = "chen2026dflash",
          .locator = "section 4",
          .parameters = block_parameters<BlockParameters>({.root_predicts = false}),
          .make = make<DFlash>,
          .examples = {R"("draft_length": 3, "layers": 2)", R"("draft_length": 2, "block_size": 5, "layers": 1)",
                       R"("draft_length": 4, "layers": 1, "target_layers": [0, 2, 5], "mask_token": 0)",
                       R"("draft_length": 3, "layers": 2, "window": 5)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 15},
          .checkpoint = DrafterKind::dflash,
          .engines = {.vllm = "dflash", .sglang = "DFLASH", .tensorrt_llm = "DFlash", .llama_cpp = "draft-dflash"},
          .consistent = inconsistent_block,
          .fits = unfit_block};
}

}  // namespace draftline::methods
