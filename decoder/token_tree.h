// SPDX-License-Identifier: Apache-2.0
// The shape of what is verified in one pass: rows of one sequence, row 0 the root (the newest token), parents before
// children, siblings in the order they are tried in. A chain is a tree. Rows may also be no candidates at all (mask rows):
// they attend to what stands above them, but verification passes them by.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace draftline {

class Reader;

class TokenTree {
 public:
  // `above[r]`: the row right above row r, -1 for the root. `node[r]`: a candidate; empty: all are. A Bug if a row stands
  // before its parent, or a candidate below a row that is none.
  explicit TokenTree(std::vector<int> above, const std::vector<bool>& node = {});
  static TokenTree chain(int drafts);

  int rows() const { return static_cast<int>(above_.size()); }
  int depth() const;  // drafts on the longest path; rows that are no nodes don't count
  const std::vector<int>& parents() const { return parents_; }  // for verification: -1 root, -2 not a node
  const std::vector<int>& depths() const { return depths_; }    // of each row below the root; position = length + depth
  std::vector<int> children(int row) const;                     // candidates only
  std::vector<int> path(int row) const;                         // root first, the row itself last

  // The tree mask: `words()` 32-bit words per row, bit j of a row = it attends to row j, itself included.
  int words() const { return (rows() + 31) / 32; }
  std::vector<int> tree_mask() const;

 private:
  std::vector<int> above_, parents_, depths_;
};

// Several trees' rows below each other, each with the words of the widest tree.
std::vector<int> tree_mask_of(std::span<const TokenTree>);

// A tree of rank paths: the child of rank r holds the r-th best candidate (from 0) of its level, whatever its parent holds
// (Medusa, Cai et al. 2024). Rows are sorted by depth, then path.
struct RankTree {
  TokenTree tree;
  std::vector<int> ranks;  // of each row in its level; the root has 0
};

// What is wrong with the paths: (index, message). Levels and ranks the drafter has bound them.
struct RankLimits {
  int levels, ranks;
};
std::vector<std::pair<std::size_t, std::string>> mistakes_of(std::span<const std::vector<int>> paths,
                                                             const RankLimits&);
RankTree rank_tree(std::vector<std::vector<int>> paths, const RankLimits&);  // InputErrors, with the path in each
RankTree read_rank_tree(Reader, const RankLimits&);  // {"nodes": [[0], [1], [0, 0]]}; on a mistake the smallest tree

}  // namespace draftline
