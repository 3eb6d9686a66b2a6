// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/draft_network.h"

#include <algorithm>

#include "methods/drafting/batch_index.h"

namespace draftline::methods {

// The number of ranks that share the draft network: those of the target if it is divided, otherwise 1.
static int ranks_of(const MethodSpec& spec, const Context& c) {
  const int ranks = c.target.ranks;
  if (spec.shards_draft_if_possible() && ranks > 1)
    return refuses_shards(c.transformer(spec.in().at("draft")), {ranks}) ? 1 : ranks;
  return spec.shards_draft() ? ranks : 1;
}

static TransformerShape read_shape(const MethodSpec& spec, const Context& c) {
  const Reader draft = spec.in().at("draft");
  TransformerShape shape = c.transformer(draft);
  if (draft.failed()) return c.target.shape;  // the mistake is noted already
  if (shape.vocabulary != c.target.shape.vocabulary && c.target.ranks == 1)
    draft.fail("its vocabulary has " + std::to_string(shape.vocabulary) + " tokens, the target's " +
               std::to_string(c.target.shape.vocabulary));
  if (shape.delta_net() != nullptr)
    draft.fail(
        "has layers with a recurrent state: such a network is not modelled as a draft, as a draft reads its last "
        "token again after a step");
  const int ranks = ranks_of(spec, c);
  if (ranks > 1) try {
      return shard(shape, {.devices = ranks});
    } catch (const InputErrors& e) { draft.fail(e.what()); }
  return shape;
}

static TransformerShape windowed(TransformerShape s, int window) {
  const bool has_one = std::any_of(s.kinds.begin(), s.kinds.end(), [](const auto& l) { return l.window(); });
  if (window == 0 || has_one) return s;
  for (LayerShape& layer : s.kinds)
    if (auto* a = std::get_if<HeadAttention>(&layer.attention)) a->window = TextWindow{window};
  return s;
}

DraftNetwork::DraftNetwork(const MethodSpec& spec, Context& c, std::optional<int> vocabulary, int window)
    : network_(windowed(read_shape(spec, c), window), c.weights, c.ops, c.capacity, "draft.", ranks_of(spec, c)),
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
