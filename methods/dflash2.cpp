// SPDX-License-Identifier: Apache-2.0
// DFlash 2 (Inco AI 2026; vLLM's pull request 52816): DFlash with a convolution of two taps around each sublayer, whose
// kernel depends on the row, and with a selector. That walks the best candidates of each mask from left to right: b
// behind a scores U(b) + <A[a] * H h, B[b]> with the LM head's U, codebooks A and B of rank r, and the mask's state h.
#include <algorithm>

#include "methods/drafting/block_drafter.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr BlockDrafts kDFlash2Drafts{8, false};

struct Selector {
  int rank = 256, candidates = 16;
};

class DFlash2 : public Method {
 public:
  DFlash2(Context& c, BlockShape block, int draft_length, const Selector& selector)
      : drafter_(c, "dflash2.", std::move(block)),
        length_(draft_length),
        candidates_(selector.candidates),
        before_(c.weights.table("dflash2.before", c.target.vocabulary(), selector.rank)),
        after_(c.weights.table("dflash2.after", c.target.vocabulary(), selector.rank)),
        gate_(c.weights.matrix("dflash2.gate", c.target.shape.hidden, selector.rank)) {}
  int depth() const override { return length_; }
  std::optional<int> longest_chain() const override { return drafter_.most_drafts(kDFlash2Drafts); }
  std::vector<int> auxiliary_layers() const override { return drafter_.auxiliary_layers(); }
  void extend(Ops& ops, const Session& s, const Committed& c) override { drafter_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    const Tensor states = drafter_.mask_states(ops, s);
    const TopK best = ops.top_k(drafter_.logits(ops, states), candidates_);
    const Tensor ids = reshape(best.ids, states.rows * candidates_, 1);
    const Tensor walked = ops.walk_candidates(best, ops.linear(states, gate_), ops.embed(before_, s.root),
                                              ops.embed(before_, ids), ops.embed(after_, ids));
    return propose_chain(ops, s, walked, length_);
  }

 private:
  BlockDrafter drafter_;
  int length_, candidates_;
  Weight before_, after_, gate_;
};

std::unique_ptr<Method> make_dflash2(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const int hidden = c.target.shape.hidden, most = std::min(64, c.target.vocabulary());
  const auto published = published_drafter(spec, c, DrafterKind::dflash2);
  BlockShape block = read_block(spec, c, kDFlash2Drafts, published);
  refuse_beside_checkpoint(spec, {"conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"});
  const auto taps = in.find("conv_kernel_size"), group = in.find("conv_group_size");
  const auto rank = in.find("selector_rank"), candidates = in.find("selector_top_k");
  Selector selector{rank ? rank->integer(1, 4096) : 256,
                    candidates ? candidates->integer(1, most) : std::min(16, most)};
  block.conv_taps = taps ? taps->integer(1, 16) : 2;
  if (group) block.conv_group = group->integer(1, hidden);
  if (published) {
    block.conv_taps = published->block.conv_taps;
    block.conv_group = published->block.conv_group;
    selector = {published->block.selector_rank, std::min(published->block.selector_top_k, most)};
  }
  if (hidden % block.conv_group != 0) {
    (group ? *group : in)
        .fail("groups of " + std::to_string(block.conv_group) + " columns must divide the target's " +
              std::to_string(hidden));
    block.conv_group = hidden;
  }
  return std::make_unique<DFlash2>(c, block, spec.draft_length().value_or(kDFlash2Drafts.of(block.block)), selector);
}

}  // namespace

Entry dflash2() {
  return {
      .name = "dflash2",
      .title = "DFlash with convolutions in its block and a walk through its candidates",
      .source = "inco2026dflash2",
      .locator = "vllm/model_executor/models/qwen3_dflash2.py",
      .lossless = Losslessness::lossless,
      .parameters =
          "draft_length (7), block_size (draft_length + 1; drafted whole), layers (5), target_layers ([[layers "
          "from 0]]; as many as layers, spread evenly), mask_token (the last of the vocabulary), conv_kernel_size "
          "(2), conv_group_size (16), selector_rank (256), selector_top_k (16), or checkpoint: "
          "a folder whose config.json says these; window: entries that the block sees of its text (all)",
      .make = make_dflash2,
      .examples =
          {R"("draft_length": 3, "layers": 2, "selector_rank": 6, "selector_top_k": 4)",
           R"("draft_length": 3, "block_size": 5, "layers": 2, "selector_rank": 5, "conv_kernel_size": 3, "conv_group_size": 4)"},
      .lengths = {.most = 64,
                  .fit = [](const MethodSpec& spec,
                            const TransformerShape&) { return fits_block(spec, kDFlash2Drafts); }},
      .checkpoint = DrafterKind::dflash2};
}

}  // namespace draftline::methods
