// SPDX-License-Identifier: Apache-2.0
// Rows to verify that the host puts together, because they were found in the text or by the method's own book-keeping:
// the tokens, where each row takes its token from, the parents and the tree mask of all sequences, built side by side.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "decoder/method.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

class HostRows {
 public:
  explicit HostRows(int sequences) : sequences_(sequences) {}
  // The rows of the next sequence: its root, then a row for each token. A Bug if the tree has not as many rows.
  void add(TokenTree, std::span<const int> tokens);
  const std::vector<int>& each() const { return each_; }  // rows of each sequence so far

  // Uploads them as inputs called `name`.rows, `name`.tokens and so on. Without a mask every tree must be a chain.
  enum class Mask { none, tree };
  Proposal proposal(Ops&, const Session&, const std::string& name, Mask) const;

 private:
  int sequences_, depth_ = 0;
  std::vector<TokenTree> trees_;
  std::vector<int> each_, tokens_, index_, parents_;  // index_: into the roots, with the tokens below them
};

}  // namespace draftline::methods
