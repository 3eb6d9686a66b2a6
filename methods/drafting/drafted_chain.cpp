// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/drafted_chain.h"

#include "core/int_indexed.h"
#include "methods/drafting/batch_index.h"

namespace draftline::methods {

Tensor DraftedChain::next(Tensor logits) {
  if (session_.sampling.greedy()) return add(ops_.argmax(logits));
  const auto drawn = ops_.sample(logits, session_.slots, session_.sampling, count(tokens_) + 1);
  distributions_.push_back(drawn.q);
  return add(drawn.tokens);
}

Tensor DraftedChain::add(Tensor tokens) {
  tokens_.push_back(tokens);
  return tokens;
}

Proposal DraftedChain::proposal(int length) const {
  const int b = session_.sequences, levels = count(tokens_);
  const Tensor by_sequence = ops_.constant(BatchIndex::interleave(b, levels));
  Proposal p = propose_chain(ops_, session_, ops_.gather(ops_.concat_rows(tokens_), by_sequence), length);
  if (drawn()) p.q = ops_.gather(ops_.concat_rows(distributions_), ops_.constant(BatchIndex::interleave(b, length)));
  return p;
}

}  // namespace draftline::methods
