// SPDX-License-Identifier: Apache-2.0
// The drafts of a chain, level by level: the best tokens for greedy text, or drawn tokens with the
// distributions that verification needs.
#pragma once
#include <vector>

#include "decoder/method.h"

namespace draftline::methods {

class DraftedChain {
 public:
  DraftedChain(Ops& ops, const Session& s) : ops_(ops), session_(s) {}
  Tensor next(Tensor logits);  // [sequences, vocabulary] -> the level's tokens, [sequences]
  Tensor add(Tensor tokens);   // a level's tokens that were chosen elsewhere
  bool drawn() const { return !distributions_.empty(); }
  Proposal proposal(int length) const;  // of the first `length` levels, all of which were drafted

 private:
  Ops& ops_;
  const Session& session_;
  std::vector<Tensor> tokens_, distributions_;
};

}  // namespace draftline::methods
