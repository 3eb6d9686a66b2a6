// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer. Their names are those of transformers (version 4.57; Qwen3.5: 5.23).
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "decoder/layer.h"

namespace draftline {

// The weights of make_layer() (decoder/layer) in a network of that architecture. Their names begin with `ours`, those
// of the tensors with `theirs`. The files decide between forms that they may have.
std::vector<StoredWeight> stored_layer(const CheckpointFiles&, std::string_view architecture, const LayerShape&,
                                       const std::string& ours, const std::string& theirs);

}  // namespace draftline
