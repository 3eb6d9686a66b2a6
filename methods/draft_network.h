// SPDX-License-Identifier: Apache-2.0
// A smaller network of the target's vocabulary, as drafters use it. It never saw its own last draft when all were
// accepted; so the first pass of a step takes two rows, [newest committed, root], and rewrites the newest committed
// entry: static shapes instead of a decision.
#pragma once
#include "methods/method.h"

namespace draftline::methods {

class DraftNetwork {
 public:
  // "draft": a transformer with the target's vocabulary
  DraftNetwork(const MethodSpec&, Context&);
  const Cache& cache() const { return network_.cache; }

  void extend(Ops&, const Session&, const Committed&);
  void prefill(Ops&, const Session&, const Committed&) const;  // its cache alone, for a drafter that needs no `first`
  // Logits that follow the roots: [sequences, vocabulary].
  Tensor first(Ops&, const Session&) const;
  // Logits of one pass of `rows` tokens behind `tail` entries, the root's included.
  Tensor next(Ops&, const Session&, Tensor tokens, const Rows&, int tail,
              const std::optional<Tensor>& tree_mask = {}) const;
  // The same in two parts, over any pass: final states of all rows, and the logits of those that are wanted.
  Tensor states(Ops&, Tensor tokens, PassRef) const;
  Tensor logits(Ops& ops, Tensor states) const { return network_.logits(ops, states); }

 private:
  Tensor newest(Ops& ops, const Session& s) const { return s.state(ops, "draft.newest", 1, 1, DType::int32); }
  Transformer network_;
};

}  // namespace draftline::methods
