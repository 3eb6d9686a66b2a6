// SPDX-License-Identifier: Apache-2.0
// Drafts a tree of fixed shape level by level, with a network in which each node attends to its path. Only the nodes
// with children pass through the network. They are consecutive in its KV cache, beginning with the root; the index of a
// node in this order is its place.
#pragma once
#include <functional>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/method.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

// How children are chosen from a node's distribution in sampled text. Greedy text always takes the best.
enum class Children : std::uint8_t { best, drawn, drawn_with_replacement };

class StaticTree {
 public:
  explicit StaticTree(RankTree);
  const RankTree& ranks() const { return tree_; }
  bool gapless() const;  // whether every node's better-ranked siblings exist; only then may children be drawn
  int depth() const { return levels_.size(); }  // levels that pass through the network; level 0 is the root
  int rows(int level) const { return levels_[level].rows.size(); }  // nodes of a level with children, per sequence
  int first(int level) const { return levels_[level].first; }       // place of a level's first node
  int children(int level) const { return levels_[level].most; }     // candidates that each node of a level drafts
  int places() const { return levels_.back().first + rows(depth() - 1); }  // nodes that pass through the network
  bool is_chain() const { return tree_.tree.rows() == depth() + 1; }

  // The tree mask of a level's rows, int32 [sequences * rows(level), words]: bit i of a row is set if it attends to
  // place `from` + i. None for a chain, which is causal.
  std::optional<Tensor> tree_mask(Ops&, int sequences, int level, int from) const;
  // Indices, [sequences * rows(level)], of the parents of a level's rows among the rows of the level above; level > 0.
  Tensor parents(Ops&, int sequences, int level) const;
  // Indices, [sequences * rows of the tree], of each row's place among [sequences, places()]; leaves have the root's.
  Tensor place_of_rows(Ops&, int sequences) const;

  // Drafts the whole tree. `network(level, tokens)`: the logits, [sequences * rows(level), vocabulary], of a level's
  // tokens. Children are drawn only if gapless().
  using Network = std::function<Tensor(int level, Tensor tokens)>;
  // `target_ids`: ids of the target for those of the logits; none: they are the same, as they are of drawn children.
  Proposal draft(Ops&, const Session&, Children, const Network&,
                 const std::function<Tensor(Tensor ids)>& target_ids = {}) const;

 private:
  struct Level {
    IntVector<int> rows;  // rows of the tree with children
    int first = 0, most = 0;
  };
  int parent_in_level(int row) const;  // index of its parent in the level above
  int candidate(int sequence, int row) const;
  RankTree tree_;
  IntVector<Level> levels_;
  IntVector<int> place_;  // by row of the tree; -1 for a leaf
};

}  // namespace draftline::methods
