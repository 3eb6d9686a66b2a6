// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer. Their names are those of transformers (version 4.57; Qwen3.5: 5.23).
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "decoder/layer.h"

namespace draftline {

// The weights of make_layer() (decoder/layer), whose names begin with `ours`; the tensors' begin with `theirs`. The
// files are asked which of several forms they have.
std::vector<StoredWeight> stored_layer(const CheckpointFiles&, const TransformerShape&, const std::string& ours,
                                       const std::string& theirs, const LayerOptions& = {});

}  // namespace draftline
