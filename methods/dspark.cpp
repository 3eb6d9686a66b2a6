// SPDX-License-Identifier: Apache-2.0
// DSpark (Cheng et al. 2026, section 3.1): the block drafter's root row predicts the first draft, so that a block of
// gamma rows gives gamma drafts. From left to right the logits of each row get a bias by the token before it,
// W1[token] W2 of rank r (equation 5), and the draft is chosen. A confidence head (equation 7) estimates from state and
// W1[token] whether the draft survives, for a scheduler. gamma -> block_size, drafts that are verified -> draft_length.
#include "methods/drafting/batch_index.h"
#include "methods/drafting/block_drafter.h"
#include "methods/drafting/drafted_chain.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct DSparkParameters : BlockParameters {
  Setting<int> markov_rank = 256;
};

class DSpark : public BlockDrafter {
 public:
  explicit DSpark(Context& c)
      : DSpark(c, c.published ? c.published->block.markov_rank : c.own<DSparkParameters>().markov_rank.value) {}
  DSpark(Context& c, int rank)
      : BlockDrafter(c, "dspark.", block_shape(c)),
        before_(c.weights.table("dspark.w1", c.target.vocabulary(), rank)),
        after_(c.weights.matrix("dspark.w2", rank, columns_of_logits())),
        confidence_(c.weights.matrix("dspark.confidence", c.target.shape.hidden + rank, 1)) {}

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, n = block_.block, vocabulary = columns_of_logits();
    const Tensor rows = states(ops, s), all = reshape(logits(ops, rows), b, n * vocabulary);
    DraftedChain chain(ops, s);
    std::vector<Tensor> before;
    Tensor token = s.root;
    for (int j = 0; j < n; ++j) {
      before.push_back(ops.embed(before_, token));
      const Tensor biased = ops.add(columns(all, j * vocabulary, vocabulary), ops.linear(before.back(), after_));
      token = head_.reduced() ? chain.add(head_.target_ids(ops, ops.argmax(biased))) : chain.next(biased);
    }
    const Tensor order = ops.constant(BatchIndex::interleave(b, n));
    const Tensor features = ops.gather({rows, ops.gather(ops.concat_rows(before), order)});
    ops.store(s.state(ops, "dspark.confidence", n, 1, ops.activations()), ops.linear(features, confidence_));
    return chain.proposal(length_);
  }

 private:
  Weight before_, after_, confidence_;
};

}  // namespace

Entry dspark() {
  using P = DSparkParameters;
  return {.name = "dspark",
          .title = "DFlash's block, each draft biased by the one before",
          .source = "cheng2026dspark",
          .locator = "section 3.1",
          .parameters = block_parameters<P>({.root_predicts = true},
                                            {integer("markov_rank", &P::markov_rank, 1, 4096,
                                                     {.meaning = "rank of its Markov head", .in_checkpoint = true})}),
          .make = make<DSpark>,
          .examples = {R"("draft_length": 3, "layers": 2, "markov_rank": 4)",
                       R"("draft_length": 2, "block_size": 4, "layers": 1, "markov_rank": 8)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 7},
          .checkpoint = DrafterKind::dspark,
          .engines = {.vllm = "dspark", .sglang = "DSPARK"},
          .consistent = inconsistent_block,
          .fits = unfit_block};
}

}  // namespace draftline::methods
