// SPDX-License-Identifier: Apache-2.0
// Drafting a tree of fixed shape with a network whose rows must attend to each node's path: level by level. Only nodes
// with children go through the network; they lie behind each other in its cache, the root first.
#pragma once
#include <functional>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/method.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

// How children come from a node's distribution. Sampled text only; greedy text takes the best.
enum class Children : std::uint8_t { best, drawn, drawn_with_replacement };

class StaticTree {
 public:
  explicit StaticTree(RankTree);
  const RankTree& ranks() const { return tree_; }
  bool gapless() const;  // every node's siblings of better rank are there too: only then may children be drawn
  int depth() const { return levels_.size(); }  // levels that go through the network; 0: the roots
  int rows(int level) const { return levels_[level].rows.size(); }
  int first(int level) const { return levels_[level].first; }    // place of its first row
  int children(int level) const { return levels_[level].most; }  // that a node of it drafts
  int places() const { return levels_.back().first + rows(depth() - 1); }
  bool is_chain() const { return tree_.tree.rows() == depth() + 1; }

  // What a level's rows attend to, by place, from place `from` on. None: a chain, causal.
  std::optional<Tensor> tree_mask(Ops&, int sequences, int level, int from) const;
  // Rows of the level above, batch included, that a level's rows hang on. Not for level 0.
  Tensor parents(Ops&, int sequences, int level) const;
  // Place, batch included, of each row of the tree; leaves have the root's.
  Tensor place_of_rows(Ops&, int sequences) const;

  // `network(level, tokens)`: logits [sequences * rows(level), vocabulary].
  using Network = std::function<Tensor(int level, Tensor tokens)>;
  Proposal draft(Ops&, const Session&, Children, const Network&) const;

 private:
  struct Level {
    IntVector<int> rows;  // of the tree: those with children
    int first = 0, most = 0;
  };
  int parent_in_level(int row) const;  // its parent's index in the level above
  int candidate(int sequence, int row) const;
  RankTree tree_;
  IntVector<Level> levels_;
  IntVector<int> place_;  // of each row of the tree; -1: a leaf
};

}  // namespace draftline::methods
