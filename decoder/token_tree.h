// SPDX-License-Identifier: Apache-2.0
// The shape of a token tree of one sequence: row 0 is the root (the newest token), parents precede their children, and
// siblings are in the order in which verification tries them. A chain is a tree. A row may also be a mask row: it
// attends to its ancestors, but is not a candidate, and verification skips it.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/int_indexed.h"

namespace draftline {

class Reader;

class TokenTree {
 public:
  // `above[r]` is the parent of row r, -1 for the root. `node[r]` says whether row r is a candidate; empty: all rows
  // are. Throws Bug if a row precedes its parent, or if the parent of a candidate is a mask row.
  explicit TokenTree(std::vector<int> above, const std::vector<bool>& node = {});
  static TokenTree chain(int drafts);

  int rows() const { return count(above_); }
  int depth() const;  // drafts on the longest path, mask rows not counted
  // The parents in the form of verification: -1 for the root, -2 for a mask row.
  const std::vector<int>& parents() const { return parents_; }
  // The depth of each row below the root; its position in the text is length + depth.
  const std::vector<int>& depths() const { return depths_; }
  std::vector<int> children(int row) const;  // only candidates
  std::vector<int> path(int row) const;      // from the root to the row

  // The tree mask: `words()` 32-bit words per row; bit j is set if the row may attend to row j. A row attends to
  // itself.
  int words() const { return (rows() + 31) / 32; }
  std::vector<int> tree_mask() const;

 private:
  std::vector<int> above_, parents_, depths_;
};

// The tree masks of several trees, concatenated by rows and padded to the words of the widest.
std::vector<int> tree_mask_of(std::span<const TokenTree>);

// A tree of rank paths: the child of rank r contains the r-th best candidate (from 0) of its level, independent of its
// parent's (Medusa, Cai et al. 2024). Rows are sorted by depth, then path.
struct RankTree {
  TokenTree tree;
  std::vector<int> ranks;  // of each row in its level; the root has 0
};

// The mistakes in a list of paths, each with the index of its path. A drafter limits paths by its levels and its ranks.
struct RankLimits {
  int levels, ranks;
};
std::vector<std::pair<std::size_t, std::string>> mistakes_of(std::span<const std::vector<int>> paths,
                                                             const RankLimits&);
RankTree rank_tree(std::vector<std::vector<int>> paths, const RankLimits&);  // InputErrors, with the path in each
// The paths of {"nodes": [[0], [1], [0, 0]]}. Mistakes are noted; the result is then the smallest tree.
std::vector<std::vector<int>> read_rank_paths(Reader, const RankLimits&);

}  // namespace draftline
