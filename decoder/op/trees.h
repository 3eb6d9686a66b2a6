// SPDX-License-Identifier: Apache-2.0
// Dynamic trees of drafts, and the rows that a drafter reads after an accepted path.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

struct ExpandTree {  // one level of a dynamic tree; all counts static, the topology is data
  static constexpr std::string_view key = "expand_tree";
  Tensor ids, log_probs;              // [B * width, k]
  Tensor score, node, tree_mask;      // [B * width] of the frontier; tree_mask [B * width, words]
  int width, keep, first_node, tail;  // frontier; next frontier; pool index of candidate 0; tail entry of row 0
  Out tokens, scores, parents;        // the candidates: [B, width * k]
  Out row, token, next_score, next_node, next_tree_mask;  // the next frontier: [B * keep], tree_mask [B * keep, words]
  FIELDS(ids, log_probs, score, node, tree_mask, width, keep, first_node, tail, tokens, scores, parents, row, token,
         next_score, next_node, next_tree_mask)
};
struct SelectTree {  // selects the rows to verify: the root and the best size - 1 candidates of all levels
  static constexpr std::string_view key = "select_tree";
  std::vector<Tensor> tokens, scores, parents;
  Tensor root;
  int size;
  bool by_level;             // upper levels first, none with score -infinity; unused rows of `size` are not nodes
  Out y, parent, tree_mask;  // [B * size], [B * size], [B * size, words]
  FIELDS(tokens, scores, parents, root, size, by_level, y, parent, tree_mask)
};
// The rows that a drafter reads after an accepted path, as indices into [items; own rows; filler]: `items` rows of the
// paths of all sequences, `own` rows of each sequence, and one more. The rows of sequence b are its items up to
// last[b], its own rows, and the filler for the remaining rows.
struct FollowPath {
  static constexpr std::string_view key = "follow_path";
  Tensor last, cu_seqlens, to;  // [B]: an index into the items; rows before each sequence, of the items and of y
  int items, own;
  Out y, newest;  // [rows of y]; [B]: the row of y before the first filler
  FIELDS(last, cu_seqlens, to, items, own, y, newest)
};

}  // namespace draftline
