// SPDX-License-Identifier: Apache-2.0
#include "methods/network_tree.h"

namespace draftline::methods {

Transformer read_draft_network(const Reader& method, Context& c) {
  const Reader draft = method.at("draft");
  TransformerShape shape = c.transformer(draft);
  if (draft.failed()) shape = c.target.shape;  // already noted
  if (shape.vocabulary != c.target.shape.vocabulary && c.target.ranks == 1)
    draft.fail("its vocabulary has " + std::to_string(shape.vocabulary) + " tokens, the target's " +
               std::to_string(c.target.shape.vocabulary));
  return Transformer(shape, c.weights, c.ops, c.capacity, "draft.");
}

static Tensor newest(Ops& ops, const Session& s) { return s.slot(ops, "draft.newest", 1, 1, DType::int32); }

void NetworkTree::extend(Ops& ops, const Session& s, const Committed& c) {
  if (c.prefill) {
    Stream x{draft_.embed(ops, c.fed)};
    draft_.run(ops, x, ops.pass({c.rows, s.seats}));
  } else if (!tree_.is_chain()) {
    ops.commit(draft_.cache, ops.gather(tree_.place_of_rows(ops, s.sequences), c.path),
               ops.uniform(s.sequences, tree_.places()), s.seats);
  }
  ops.store(newest(ops, s), ops.gather(c.fed, c.last_row));
}

Proposal NetworkTree::propose(Ops& ops, Session& s) {
  const int b = s.sequences;
  return tree_.draft(ops, s, children_, [&](int level, Tensor tokens) {
    std::optional<Tensor> sees;
    if (level > 0) sees = tree_.sees(ops, b, level, 0);
    Rows rows = ops.uniform(b, tree_.rows(level));
    if (level == 0) {  // the newest committed token again, then the root
      std::vector<int> pairs;
      for (int q = 0; q < b; ++q) pairs.insert(pairs.end(), {q, b + q});
      tokens = ops.gather(ops.concat_rows({newest(ops, s), tokens}), ops.constant(pairs));
      rows = ops.uniform(b, 2);
    }
    Stream x{draft_.embed(ops, tokens)};
    draft_.run(ops, x, ops.pass({rows, s.seats, sees, level == 0 ? -1 : tree_.first(level)}));
    Tensor y = draft_.final_norm(ops, x);
    if (level == 0) {
      std::vector<int> second;
      for (int q = 0; q < b; ++q) second.push_back(2 * q + 1);
      y = ops.gather(y, ops.constant(second));
    }
    return draft_.logits(ops, y);
  });
}

}  // namespace draftline::methods
