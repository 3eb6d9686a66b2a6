// SPDX-License-Identifier: Apache-2.0
// A tree whose shape is fixed before the text is known: a path of ranks per node (Medusa, Cai et al. 2024, section 3.1.2).
// Node (r1..rj) holds the r_j-th best candidate of level j, whatever its parents hold.
#pragma once
#include <optional>
#include <vector>

#include "core/reader.h"
#include "decoder/method.h"

namespace draftline {

class StaticTree {
 public:
  explicit StaticTree(std::vector<std::vector<int>> paths);  // sorted by length, parents before children
  static StaticTree chain(int length);
  // {"nodes": [[0], [0, 0], [1]]}; notes a mistake for a path without its parent, twice the same, or too deep.
  static std::optional<StaticTree> read(const Reader&, int most_depth, int most_width);

  int depth() const;
  int size() const { return static_cast<int>(paths_.size()) + 1; }  // root included
  int width(int level) const;  // candidates that level needs: its highest rank + 1
  bool is_chain() const;
  // Rows to verify; candidates[j]: int32 [sequences, width(j)] of level j, best first.
  Proposal propose(Ops&, const Session&, const std::vector<Tensor>& candidates) const;

 private:
  std::vector<std::vector<int>> paths_;
  std::vector<int> parents_;  // row, root = 0
  std::vector<int> sees_;     // bit words of each row
};

}  // namespace draftline
