// SPDX-License-Identifier: Apache-2.0
// DFlash (Chen et al. 2026, section 4): a block of the root and K masks goes through the block drafter in one pass, and
// each mask's row predicts one draft. K + 1 -> block_size, the drafts that are verified -> draft_length.
#include "methods/drafting/block_drafter.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr BlockDrafts kDFlashDrafts{16, false};

class DFlash : public Method {
 public:
  DFlash(Context& c, BlockShape block, int draft_length)
      : drafter_(c, "dflash.", std::move(block)), length_(draft_length) {}
  int depth() const override { return length_; }
  std::optional<int> longest_chain() const override { return drafter_.most_drafts(kDFlashDrafts); }
  std::vector<int> auxiliary_layers() const override { return drafter_.auxiliary_layers(); }
  void extend(Ops& ops, const Session& s, const Committed& c) override { drafter_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    const Tensor best = ops.argmax(drafter_.logits(ops, drafter_.mask_states(ops, s)));
    return propose_chain(ops, s, drafter_.head().target_ids(ops, best), length_);
  }

 private:
  BlockDrafter drafter_;
  int length_;
};

}  // namespace

Entry dflash() {
  using P = BlockParameters;
  return {.name = "dflash",
          .title = "a block of masks in one pass over the target's states",
          .source = "chen2026dflash",
          .locator = "section 4",
          .lossless = Losslessness::lossless,
          .parameters = block_parameters<P>(kDFlashDrafts),
          .make = made_of<P>([](const P& p, Context& c) {
            const BlockShape block = block_shape(p, c, kDFlashDrafts);
            return std::make_unique<DFlash>(c, block, c.spec.draft_length().value_or(kDFlashDrafts.of(block.block)));
          }),
          .examples = {R"("draft_length": 3, "layers": 2)", R"("draft_length": 2, "block_size": 5, "layers": 1)",
                       R"("draft_length": 4, "layers": 1, "target_layers": [0, 2, 5], "mask_token": 0)",
                       R"("draft_length": 3, "layers": 2, "window": 5)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 15},
          .checkpoint = DrafterKind::dflash,
          .engines = {.vllm = "dflash", .sglang = "DFLASH", .tensorrt_llm = "DFlash", .llama_cpp = "draft-dflash"},
          .consistent = [](const MethodSpec& spec) { return inconsistent_block(spec, kDFlashDrafts); },
          .fits = [](const Context& c) { return unfit_block(c, kDFlashDrafts); }};
}

}  // namespace draftline::methods
