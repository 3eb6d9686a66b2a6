// SPDX-License-Identifier: Apache-2.0
// Which layers of the target a drafter runs, as scenarios say it.
#pragma once
#include <vector>

#include "core/reader.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"

namespace draftline::methods {

// "skip": "5->26" keeps layers 1-5 and from 26 on, counted from 1, as S3D's tables write it; "none" keeps all. Without
// it the share that S3D's 5->26 of 32 layers keeps.
std::vector<LayerUse> read_kept_layers(const Reader& method, int layers);

// Whether rows that far ahead of a text, the root's included, are no more than the target has positions; notes a
// mistake where they are.
bool has_positions(const TransformerShape& target, int rows);
void check_positions(const MethodSpec&, const Transformer&, int rows);

// Mask tokens among real ones: embedding rows, in the order of `index` into [embedded tokens, the mask's].
Tensor embed_with_masks(Ops&, const Transformer&, Weight mask, Tensor tokens, const std::vector<int>& index);

}  // namespace draftline::methods
