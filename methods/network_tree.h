// SPDX-License-Identifier: Apache-2.0
// A smaller network of the same vocabulary that drafts a tree of fixed shape: MCSD, Sequoia. What is accepted is moved in
// its cache as in the target's; an accepted leaf, which the network has not seen, is fed with the next root.
#pragma once
#include "methods/method.h"
#include "methods/static_tree.h"

namespace draftline::methods {

class NetworkTree : public Method {
 public:
  NetworkTree(Transformer draft, RankTree tree, Children children)
      : draft_(std::move(draft)), tree_(std::move(tree)), children_(children) {}
  int depth() const override { return tree_.depth(); }
  int rewrites() const override { return 1; }
  const RankTree* tree() const override { return &tree_.ranks(); }
  void extend(Ops&, const Session&, const Committed&) override;
  Proposal propose(Ops&, Session&) override;

 private:
  Transformer draft_;
  StaticTree tree_;
  Children children_;
};

// "draft": a transformer with the target's vocabulary; else a mistake is noted there.
Transformer read_draft_network(const Reader& method, Context&);

}  // namespace draftline::methods
