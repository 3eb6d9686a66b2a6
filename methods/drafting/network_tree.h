// SPDX-License-Identifier: Apache-2.0
// A draft network that drafts a tree of fixed shape (MCSD, Sequoia). Accepted rows are moved in its KV cache as in the
// target's. An accepted leaf is not in its cache yet; the first pass of the next step has it as a row with the root.
#pragma once
#include "methods/drafting/draft_network.h"
#include "methods/drafting/static_tree.h"

namespace draftline::methods {

class NetworkTree : public Method {
 public:
  NetworkTree(DraftNetwork draft, RankTree tree, Children children)
      : draft_(std::move(draft)), tree_(std::move(tree)), children_(children) {}
  int depth() const override { return tree_.depth(); }
  int rewrites() const override { return 1; }
  const RankTree* tree() const override { return &tree_.ranks(); }
  void extend(Ops&, const Session&, const Committed&) override;
  Proposal propose(Ops&, Session&) override;

 private:
  DraftNetwork draft_;
  StaticTree tree_;
  Children children_;
};

}  // namespace draftline::methods
