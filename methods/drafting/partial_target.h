// SPDX-License-Identifier: Apache-2.0
// Drafters that run a part of the target's layers, and mask tokens among their rows.
#pragma once
#include <vector>

#include "core/reader.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"

namespace draftline::methods {

// Layers that a draft skips, counted from 1 as in S3D's tables: "5->26" keeps layers 1 to 5 and from 26 on; "none" is
// 0->1. Without a gap the same shares of the layers are kept as by 5->26 of 32.
struct LayerGap {
  int before = 0, behind = 1;  // the last layer before it, and the first behind it
};
LayerGap read_gap(const Reader&);  // mistakes are noted
std::optional<Mistake> wrong_gap(const std::optional<LayerGap>&, int layers);
std::vector<LayerUse> kept_layers(const std::optional<LayerGap>&, int layers);

// How many of the first layers draft: `exit`, or else `usual`. The target goes on from there, so that its next layer
// must not share the choice of an indexer before it: `usual` is raised to such a layer, at most to `most`, and another
// exit is a mistake.
int exit_layer(const std::optional<int>& exit, const TransformerShape& target, int usual, int most);
std::optional<Mistake> wrong_exit(const std::optional<int>& exit, const TransformerShape& target, int most);

// The mistake of rows that reach beyond the target's positions.
std::optional<Mistake> beyond_positions(const MethodSpec&, const TransformerShape& target, int rows);

// Embeddings of tokens and mask tokens, [index.size(), hidden], gathered by `index` from [embedded tokens, mask].
Tensor embed_with_masks(Ops&, const Transformer&, Weight mask, Tensor tokens, const std::vector<int>& index);

}  // namespace draftline::methods
