// SPDX-License-Identifier: Apache-2.0
// The weights of drafters that propose a block at once (methods/drafting/block_drafter, methods/dspark, dflash2) as
// their folders store them; without an embedding and an LM head.
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "model/transformers/drafter_config.h"

namespace draftline {

struct BlockDrafterWeights {
  std::vector<StoredWeight> stored;
  std::vector<std::string> zeros;   // weights of ours that the folder does not have, and need not
  std::vector<std::string> unread;  // tensors that the network does without
};
// The weights of a drafter of the kind dflash, dspark or dflash2. The files are asked which of several forms they have.
BlockDrafterWeights block_drafter_weights(const CheckpointFiles&, const DrafterConfig&);

}  // namespace draftline
