// SPDX-License-Identifier: Apache-2.0
// Verified rows that the host assembles, for drafts that come from the text or from the method's own state on the host:
// builds tokens, index, parents and tree mask of all sequences together.
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
  // Adds the rows of the next sequence: its root and a row for each token. Bug if the tree does not have as many rows.
  void add(TokenTree, std::span<const int> tokens);
  const std::vector<int>& each() const { return each_; }  // rows of each sequence so far

  // The proposal of all sequences, whose inputs are named `name`.rows, `name`.tokens and so on. Mask::none requires
  // every tree to be a chain.
  enum class Mask { none, tree };
  Proposal proposal(Ops&, const Session&, const std::string& name, Mask) const;

 private:
  int sequences_, depth_ = 0;
  std::vector<TokenTree> trees_;
  std::vector<int> each_, tokens_, index_, parents_;  // index_: into [roots, tokens]
};

}  // namespace draftline::methods
