// SPDX-License-Identifier: Apache-2.0
// DSpark (Cheng et al. 2026, section 3.1): the block drafter's root row predicts the first draft, so that a block of
// gamma rows gives gamma drafts. From left to right the logits of each row get a bias by the token before it,
// W1[token] W2 of rank r (equation 5), and the draft is chosen. A confidence head (equation 7) estimates from state and
// W1[token] whether the draft survives, for a scheduler. gamma -> block_size, drafts that are verified -> draft_length.
#include "methods/drafting/batch_index.h"
#include "methods/drafting/block_drafter.h"
#include "methods/drafting/drafted_chain.h"
#include "methods/drafting/published_drafter.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr BlockDrafts kDSparkDrafts{7, true};

class DSpark : public Method {
 public:
  DSpark(Context& c, BlockShape block, int draft_length, int rank)
      : drafter_(c, "dspark.", std::move(block)),
        length_(draft_length),
        before_(c.weights.table("dspark.w1", c.target.vocabulary(), rank)),
        after_(c.weights.matrix("dspark.w2", rank, drafter_.columns_of_logits())),
        confidence_(c.weights.matrix("dspark.confidence", c.target.shape.hidden + rank, 1)) {}
  int depth() const override { return length_; }
  std::optional<int> longest_chain() const override { return drafter_.most_drafts(kDSparkDrafts); }
  std::vector<int> auxiliary_layers() const override { return drafter_.auxiliary_layers(); }
  void extend(Ops& ops, const Session& s, const Committed& c) override { drafter_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, n = drafter_.shape().block, vocabulary = drafter_.columns_of_logits();
    const Tensor states = drafter_.states(ops, s);
    const Tensor logits = reshape(drafter_.logits(ops, states), b, n * vocabulary);
    DraftedChain chain(ops, s);
    std::vector<Tensor> before;
    Tensor token = s.root;
    for (int j = 0; j < n; ++j) {
      before.push_back(ops.embed(before_, token));
      const Tensor biased = ops.add(columns(logits, j * vocabulary, vocabulary), ops.linear(before.back(), after_));
      token = drafter_.head().reduced() ? chain.add(drafter_.head().target_ids(ops, ops.argmax(biased)))
                                        : chain.next(biased);
    }
    const Tensor order = ops.constant(BatchIndex::interleave(b, n));
    const Tensor features = ops.gather({states, ops.gather(ops.concat_rows(before), order)});
    ops.store(s.state(ops, "dspark.confidence", n, 1, ops.activations()), ops.linear(features, confidence_));
    return chain.proposal(length_);
  }

 private:
  BlockDrafter drafter_;
  int length_;
  Weight before_, after_, confidence_;
};

struct DSparkParameters : BlockParameters {
  Setting<int> markov_rank = 256;
};

}  // namespace

Entry dspark() {
  using P = DSparkParameters;
  return {.name = "dspark",
          .title = "DFlash's block, each draft biased by the one before",
          .source = "cheng2026dspark",
          .locator = "section 3.1",
          .lossless = Losslessness::lossless,
          .parameters = block_parameters<P>(
              kDSparkDrafts, {integer("markov_rank", &P::markov_rank, 1, 4096, {.in_checkpoint = true})}),
          .make = made_of<P>([](const P& p, Context& c) {
            const BlockShape block = block_shape(p, c, kDSparkDrafts);
            const int rank = c.published ? c.published->block.markov_rank : p.markov_rank.value;
            return std::make_unique<DSpark>(c, block, c.spec.draft_length().value_or(kDSparkDrafts.of(block.block)),
                                            rank);
          }),
          .examples = {R"("draft_length": 3, "layers": 2, "markov_rank": 4)",
                       R"("draft_length": 2, "block_size": 4, "layers": 1, "markov_rank": 8)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 7},
          .checkpoint = DrafterKind::dspark,
          .engines = {.vllm = "dspark", .sglang = "DSPARK"},
          .consistent = [](const MethodSpec& spec) { return inconsistent_block(spec, kDSparkDrafts); },
          .fits = [](const Context& c) { return unfit_block(c, kDSparkDrafts); }};
}

}  // namespace draftline::methods
