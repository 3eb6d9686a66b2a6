// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/host_rows.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline::methods {

std::vector<int> decide_each(Ops& ops, const std::function<int(std::size_t i)>& of, const std::vector<int>& usual) {
  return ops.decide(
      {},
      [&](std::span<const int>) {
        std::vector<int> each;
        for (std::size_t i = 0; i < usual.size(); ++i) each.push_back(of(i));
        return each;
      },
      usual);
}

void HostRows::add(TokenTree tree, std::span<const int> tokens) {
  check(tree.rows() == 1 + count(tokens), "a row for the root and one for each token");
  index_.push_back(count(each_));
  for (const int token : tokens) {
    index_.push_back(sequences_ + count(tokens_));
    tokens_.push_back(token);
  }
  each_.push_back(tree.rows());
  depth_ = std::max(depth_, tree.depth());
  parents_.insert(parents_.end(), tree.parents().begin(), tree.parents().end());
  trees_.push_back(std::move(tree));
}

Proposal HostRows::proposal(Ops& ops, const Session& s, const std::string& name, Mask mask) const {
  check(count(each_) == sequences_, "rows of every sequence");
  Proposal p{.rows = ops.ragged(name + ".rows", each_),
             .tokens = s.root,
             .parents = ops.input(name + ".parents", parents_),
             .depth = depth_};
  if (!tokens_.empty()) {
    const Tensor both = ops.concat_rows({s.root, ops.input(name + ".tokens", tokens_)});
    p.tokens = ops.gather(both, ops.input(name + ".index", index_));
  }
  if (mask == Mask::tree) {
    const Tensor words = ops.input(name + ".tree_mask", tree_mask_of(trees_));
    p.tree_mask = reshape(words, p.rows.total, words.rows / p.rows.total);
  }
  return p;
}

}  // namespace draftline::methods
