// SPDX-License-Identifier: Apache-2.0
// Dynamic trees: the candidates of a level and the frontier chosen from them, and the selection of rows to verify.
#pragma once
#include <cuda_runtime.h>

#include <span>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// The fields of ExpandTree in decoder/op/trees.h.
struct ExpandTreeView {
  View<const int> ids;
  View<const float> log_probs;
  View<const float> score;
  View<const int> node, tree_mask;
  int width, keep, first_node, tail;
  View<int> tokens;
  View<float> scores;
  View<int> parents, row, token;
  View<float> next_score;
  View<int> next_node, next_tree_mask;
};
void expand_tree(const ExpandTreeView&, cudaStream_t);

// The candidates of one level, [sequences, columns] each.
struct TreeLevel {
  View<const int> tokens;
  View<const float> scores;
  View<const int> parents;
};
struct SelectTreeView {
  View<const int> root;
  int size;
  bool by_level;
  View<int> y, parent, tree_mask;
};
void select_tree(std::span<const TreeLevel>, const SelectTreeView&, cudaStream_t);

}  // namespace draftline::cuda
