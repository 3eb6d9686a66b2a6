// SPDX-License-Identifier: Apache-2.0
// The stored weights of drafters that propose a block at once (methods/drafting/block_drafter, methods/dspark,
// dflash2, domino), without embedding and LM head.
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "model/transformers/drafter_config.h"

namespace draftline {

struct BlockDrafterWeights {
  std::vector<StoredWeight> stored;
  std::vector<std::string> zeros;   // our weights that the folder lacks and that are zero
  std::vector<std::string> unread;  // tensors that the network does not use
};
// The weights of a drafter of kind dflash, dspark, dflash2 or domino. Their form is detected from the files.
BlockDrafterWeights block_drafter_weights(const CheckpointFiles&, const DrafterConfig&);

}  // namespace draftline
