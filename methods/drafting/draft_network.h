// SPDX-License-Identifier: Apache-2.0
// A draft network: a smaller transformer with the target's vocabulary, and its own KV cache. If all drafts of a step
// were accepted, the last one is not in its cache yet. Therefore the first pass of each step has two rows, [newest
// committed token, root], and writes the newest committed entry again, so that shapes do not depend on acceptance.
#pragma once
#include "methods/drafting/draft_head.h"

namespace draftline::methods {

class DraftNetwork {
 public:
  // Builds the transformer of the parameter "draft". `vocabulary`: of an LM head over the most frequent tokens in place
  // of its own; none: its own. `window`: that its layers see, unless they have windows of their own; 0: all.
  explicit DraftNetwork(Context&, std::optional<int> vocabulary = {}, int window = 0);
  // Keeps the rows of `path` of a pass's tail in the KV cache.
  void commit(Ops& ops, Tensor path, const Rows& rows, const BatchSlots& slots) const {
    network_.commit(ops, path, rows, slots);
  }

  void extend(Ops&, const Session&, const Committed&);         // after each prefill and step; first() needs it
  void prefill(Ops&, const Session&, const Committed&) const;  // fills only the KV cache, if first() is not used
  // The logits after the roots, [sequences, vocabulary].
  Tensor first(Ops&, const Session&) const;
  // The logits, [rows, vocabulary], of a pass of `rows` tokens behind `tail` entries after the committed ones, the
  // root's included. `tree_mask`: none for a chain.
  Tensor next(Ops&, const Session&, Tensor tokens, const Rows&, int tail,
              const std::optional<Tensor>& tree_mask = {}) const;
  // states() and logits() are the two parts of a pass, for any pass: the final hidden states, [rows, hidden], and the
  // logits of a choice of these.
  Tensor states(Ops&, Tensor tokens, PassRef) const;
  Tensor logits(Ops& ops, Tensor states) const { return head_.logits(ops, network_, states); }
  bool reduced() const { return head_.reduced(); }
  Tensor target_ids(Ops& ops, Tensor ids) const { return head_.target_ids(ops, ids); }

 private:
  Tensor newest(Ops& ops, const Session& s) const { return s.state(ops, "draft.newest", 1, 1, DType::int32); }
  Transformer network_;
  DraftHead head_;
};

}  // namespace draftline::methods
