// SPDX-License-Identifier: Apache-2.0
// DFlash 2 (Inco AI 2026; vLLM's pull request 52816): DFlash with a convolution of two taps around each sublayer, whose
// kernel depends on the row, and with a selector. That walks the best candidates of each mask from left to right: b
// behind a scores U(b) + <A[a] * H h, B[b]> with the LM head's U, codebooks A and B of rank r, and the mask's state h.
#include <algorithm>

#include "methods/drafting/block_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct DFlash2Parameters : BlockParameters {
  Setting<int> conv_kernel_size = 2, conv_group_size = 16, selector_rank = 256;
  std::optional<int> selector_top_k;
};

int hidden_of(const Target& t) { return t.shape.hidden; }
int candidates_of(const Target& t) { return std::min(64, t.vocabulary); }

// What DFlash 2 adds to a block drafter, as of the checkpoint or of the parameters.
BlockDrafterConfig additions(const Context& c) {
  const int most = candidates_of(c.limits());
  if (c.published) {
    BlockDrafterConfig own = c.published->block;
    own.selector_top_k = std::min(own.selector_top_k, most);
    return own;
  }
  const auto& p = c.own<DFlash2Parameters>();
  return {.conv_taps = p.conv_kernel_size,
          .conv_group = p.conv_group_size,
          .selector_rank = p.selector_rank,
          .selector_top_k = p.selector_top_k.value_or(std::min(16, most))};
}

BlockShape convolved_block(const Context& c) {
  BlockShape block = block_shape(c);
  block.conv_taps = additions(c).conv_taps;
  block.conv_group = additions(c).conv_group;
  return block;
}

class DFlash2 : public BlockDrafter {
 public:
  explicit DFlash2(Context& c)
      : BlockDrafter(c, "dflash2.", convolved_block(c)),
        candidates_(additions(c).selector_top_k),
        before_(c.weights.table("dflash2.before", c.target.vocabulary(), additions(c).selector_rank)),
        after_(c.weights.table("dflash2.after", c.target.vocabulary(), additions(c).selector_rank)),
        gate_(c.weights.matrix("dflash2.gate", c.target.shape.hidden, additions(c).selector_rank)) {}

  Proposal propose(Ops& ops, Session& s) override {
    const Tensor rows = mask_states(ops, s);
    const TopK best = ops.top_k(logits(ops, rows), candidates_);
    const Tensor ids = reshape(best.ids, rows.rows * candidates_, 1);
    const Tensor walked = ops.walk_candidates(best, ops.linear(rows, gate_), ops.embed(before_, s.root),
                                              ops.embed(before_, ids), ops.embed(after_, ids));
    return propose_chain(ops, s, walked, length_);
  }

 private:
  int candidates_;
  Weight before_, after_, gate_;
};

std::optional<Mistake> unfit_dflash2(const Context& c) {
  if (auto wrong = unfit_block(c)) return wrong;
  const int group = additions(c).conv_group, hidden = c.target.shape.hidden;
  if (hidden % group == 0) return std::nullopt;
  return Mistake{"/conv_group_size",
                 "groups of " + std::to_string(group) + " columns must divide the target's " + std::to_string(hidden)};
}

}  // namespace

Entry dflash2() {
  using P = DFlash2Parameters;
  return {
      .name = "dflash2",
      .title = "DFlash with convolutions in its block and a walk through its candidates",
      .source = "inco2026dflash2",
      .locator = "vllm/model_executor/models/qwen3_dflash2.py",
      .parameters = block_parameters<P>(
          {.root_predicts = false},
          {integer("conv_kernel_size", &P::conv_kernel_size, 1, 16,
                   {.meaning = "tokens of its convolution", .in_checkpoint = true}),
           integer("conv_group_size", &P::conv_group_size, 1, 1 << 20,
                   {.meaning = "columns of a group of its convolution", .in_checkpoint = true, .most = hidden_of}),
           integer("selector_rank", &P::selector_rank, 1, 4096,
                   {.meaning = "rank of its selector of candidates", .in_checkpoint = true}),
           integer(
               "selector_top_k", &P::selector_top_k, 1, 64,
               {.meaning = "candidates of a position", .usual = "16", .in_checkpoint = true, .most = candidates_of})}),
      .make = make<DFlash2>,
      .examples =
          {R"("draft_length": 3, "layers": 2, "selector_rank": 6, "selector_top_k": 4)",
           R"("draft_length": 3, "block_size": 5, "layers": 2, "selector_rank": 5, "conv_kernel_size": 3, "conv_group_size": 4)"},
      .lengths = {.most = kMostBlockDrafts, .usual = 7},
      .checkpoint = DrafterKind::dflash2,
      .engines = {.vllm = "dflash", .sglang = "DFLASH"},
      .consistent = inconsistent_block,
      .fits = unfit_dflash2};
}

}  // namespace draftline::methods
