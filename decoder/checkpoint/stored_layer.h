// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer. Their names are those of transformers (version 4.57; Qwen3.5: 5.23).
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "decoder/layer.h"

namespace draftline {

// The weights of make_layer() (decoder/layer) in a network of this architecture. `ours` and `theirs`: prefixes of the
// names of our weights and of the tensors. The form of the tensors is detected from the files.
std::vector<StoredWeight> stored_layer(const CheckpointFiles&, std::string_view architecture, const LayerShape&,
                                       const std::string& ours, const std::string& theirs);

}  // namespace draftline
