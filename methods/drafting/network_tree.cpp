// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/network_tree.h"

namespace draftline::methods {

void NetworkTree::extend(Ops& ops, const Session& s, const Committed& c) {
  if (!c.prefill && !tree_.is_chain())
    draft_.commit(ops, ops.gather(tree_.place_of_rows(ops, s.sequences), c.path),
                  ops.uniform(s.sequences, tree_.places()), s.slots);
  draft_.extend(ops, s, c);
}

Proposal NetworkTree::propose(Ops& ops, Session& s) {
  return tree_.draft(ops, s, children_, [&](int level, Tensor tokens) {
    if (level == 0) return draft_.first(ops, s);
    return draft_.next(ops, s, tokens, ops.uniform(s.sequences, tree_.rows(level)), tree_.first(level),
                       tree_.tree_mask(ops, s.sequences, level, 0));
  });
}

}  // namespace draftline::methods
