// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/draft_network.h"

#include <algorithm>

#include "methods/drafting/batch_index.h"

namespace draftline::methods {

static TransformerShape windowed(TransformerShape s, int window) {
  const bool has_one = std::any_of(s.kinds.begin(), s.kinds.end(), [](const auto& l) { return l.window(); });
  if (window == 0 || has_one) return s;
  for (LayerShape& layer : s.kinds)
    if (auto* a = std::get_if<HeadAttention>(&layer.attention)) a->window = TextWindow{window};
  return s;
}

DraftNetwork::DraftNetwork(Context& c, std::optional<int> vocabulary, int window)
    : network_(windowed(*c.draft, window), c.weights, c.ops, c.capacity, {.prefix = "draft.", .ranks = c.draft_ranks}),
      head_(network_, c.weights, "draft.reduced.", vocabulary) {}

void DraftNetwork::extend(Ops& ops, const Session& s, const Committed& c) {
  if (c.prefill) prefill(ops, s, c);
  ops.store(newest(ops, s), ops.gather(c.fed, c.last_row));
}

void DraftNetwork::prefill(Ops& ops, const Session& s, const Committed& c) const {
  Stream x{network_.embed(ops, c.fed)};
  network_.run(ops, x, ops.pass({c.rows, s.slots}));
}

Tensor DraftNetwork::first(Ops& ops, const Session& s) const {
  const int b = s.sequences;
  const auto pairs = BatchIndex::interleave(b, 2), second = BatchIndex::level(b, 2, 1);
  Stream x{network_.embed(ops, ops.gather(ops.concat_rows({newest(ops, s), s.root}), ops.constant(pairs)))};
  network_.run(ops, x, ops.pass({ops.uniform(b, 2), s.slots, {}, -1}));
  return logits(ops, ops.gather(network_.final_norm(ops, x), ops.constant(second)));
}

Tensor DraftNetwork::next(Ops& ops, const Session& s, Tensor tokens, const Rows& rows, int tail,
                          const std::optional<Tensor>& tree_mask) const {
  return logits(ops, states(ops, tokens, ops.pass({rows, s.slots, tree_mask, tail})));
}

Tensor DraftNetwork::states(Ops& ops, Tensor tokens, PassRef pass) const {
  Stream x{network_.embed(ops, tokens)};
  network_.run(ops, x, pass);
  return network_.final_norm(ops, x);
}

}  // namespace draftline::methods
