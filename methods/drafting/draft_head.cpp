// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/draft_head.h"

namespace draftline::methods {

DraftHead::DraftHead(const Transformer& network, WeightStore& weights, const std::string& prefix,
                     std::optional<int> vocabulary) {
  if (!vocabulary) return;
  head_ = weights.lm_head(prefix + "lm_head", network.shape.hidden, (*vocabulary + network.ranks - 1) / network.ranks);
  if (*vocabulary < network.vocabulary()) offsets_ = weights.vector(prefix + "id_offsets", *vocabulary);
}

int DraftHead::columns(const Transformer& network) const {
  return head_ ? head_->out * network.ranks : network.vocabulary();
}

Tensor DraftHead::logits(Ops& ops, const Transformer& network, Tensor normed) const {
  return head_ ? ops.gather_over_ranks(ops.linear(normed, *head_), network.ranks) : network.logits(ops, normed);
}

}  // namespace draftline::methods
