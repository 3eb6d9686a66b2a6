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

struct DFlash2Parameters : BlockParameters {
  Setting<int> conv_kernel_size = 2, conv_group_size = 16, selector_rank = 256;
  std::optional<int> selector_top_k;
};

int hidden_of(const Target& t) { return t.shape.hidden; }
int candidates_of(const Target& t) { return std::min(64, t.vocabulary); }

std::unique_ptr<Method> make_dflash2(const DFlash2Parameters& p, Context& c) {
  const int most = candidates_of(c.limits());
  BlockShape block = block_shape(p, c, kDFlash2Drafts);
  Selector selector{p.selector_rank, p.selector_top_k.value_or(std::min(16, most))};
  block.conv_taps = p.conv_kernel_size;
  block.conv_group = p.conv_group_size;
  if (c.published) {
    const BlockDrafterConfig& own = c.published->block;
    block.conv_taps = own.conv_taps;
    block.conv_group = own.conv_group;
    selector = {own.selector_rank, std::min(own.selector_top_k, most)};
  }
  return std::make_unique<DFlash2>(c, block, c.spec.draft_length().value_or(kDFlash2Drafts.of(block.block)), selector);
}

std::optional<Mistake> unfit_dflash2(const Context& c) {
  if (auto wrong = unfit_block(c, kDFlash2Drafts)) return wrong;
  const auto& p = c.spec.own<DFlash2Parameters>();
  const int group = c.published ? c.published->block.conv_group : p.conv_group_size.value,
            hidden = c.target.shape.hidden;
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
      .lossless = Losslessness::lossless,
      .parameters = block_parameters<P>(
          kDFlash2Drafts,
          {integer("conv_kernel_size", &P::conv_kernel_size, 1, 16, {.in_checkpoint = true}),
           integer("conv_group_size", &P::conv_group_size, 1, 1 << 20, {.in_checkpoint = true, .most = hidden_of}),
           integer("selector_rank", &P::selector_rank, 1, 4096, {.in_checkpoint = true}),
           integer("selector_top_k", &P::selector_top_k, 1, 64,
                   {.usual = "16", .in_checkpoint = true, .most = candidates_of})}),
      .make = made_of<P>(make_dflash2),
      .examples =
          {R"("draft_length": 3, "layers": 2, "selector_rank": 6, "selector_top_k": 4)",
           R"("draft_length": 3, "block_size": 5, "layers": 2, "selector_rank": 5, "conv_kernel_size": 3, "conv_group_size": 4)"},
      .lengths = {.most = kMostBlockDrafts, .usual = 7},
      .checkpoint = DrafterKind::dflash2,
      .engines = {.vllm = "dflash", .sglang = "DFLASH"},
      .consistent = [](const MethodSpec& spec) { return inconsistent_block(spec, kDFlash2Drafts); },
      .fits = unfit_dflash2};
}

}  // namespace draftline::methods
