// SPDX-License-Identifier: Apache-2.0
// Verified rows that the host assembles, for drafts that come from the text or from the method's own state on the host:
// builds tokens, index, parents and tree mask of all sequences together.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decoder/method.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

// What the host decides of each sequence, as Ops::decide(); `usual`: for each, while pricing.
std::vector<int> decide_each(Ops&, const std::function<int(std::size_t i)>&, const std::vector<int>& usual);
// The newest token of sequence i; 0 while pricing, as there is no text.
inline int root_of(const Session& s, std::size_t i) { return s.text[i].empty() ? 0 : s.text[i].back(); }
// The target's tokens after the rows of the pass, int32 [total].
inline Tensor predicted(Ops& ops, const Committed& c) { return c.predicted ? *c.predicted : ops.argmax(c.logits); }

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
