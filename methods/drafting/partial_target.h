// SPDX-License-Identifier: Apache-2.0
// Drafters that run a part of the target's layers, and mask tokens among their rows.
#pragma once
#include <vector>

#include "core/reader.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"

namespace draftline::methods {

// Reads "skip" of a method's object: "5->26" keeps layers 1 to 5 and from 26 on, counted from 1 as in S3D's tables;
// "none" keeps all. Without it the same shares of the layers as 5->26 of 32. Mistakes are noted, and all layers kept.
std::vector<LayerUse> read_kept_layers(const Reader& method, int layers);

// Reads "exit" of a method's object: how many of the first layers draft, at most `most`; `usual` where the file is
// silent. The target goes on from there, so that its next layer must not share the choice of an indexer before it:
// `usual` is raised to such a layer, and another exit is a mistake.
int read_exit(const Reader& method, const TransformerShape& target, int usual, int most);

// Whether the target has at least `rows` positions, so that a step may reach so far beyond a text; check_positions()
// notes a mistake otherwise.
bool has_positions(const TransformerShape& target, int rows);
void check_positions(const MethodSpec&, const Transformer&, int rows);

// Embeddings of tokens and mask tokens, [index.size(), hidden], gathered by `index` from [embedded tokens, mask].
Tensor embed_with_masks(Ops&, const Transformer&, Weight mask, Tensor tokens, const std::vector<int>& index);

}  // namespace draftline::methods
