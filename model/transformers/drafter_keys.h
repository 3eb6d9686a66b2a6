// SPDX-License-Identifier: Apache-2.0
// Keys of config.json that mean the same in drafters of several kinds.
#pragma once
#include <vector>

#include "model/transformers/drafter_config.h"

namespace draftline::config {

// Ids of the target's layers, whose states the drafter reads. `later`: 0 for ids of layers that a state enters, 1 for
// those that it leaves; -1 is the embedding then.
void read_states(const Reader& ids, int later, DrafterConfig&);
void refuse_other_width(const Reader&, const DrafterConfig&);  // by "target_hidden_size"
// "draft_vocab_size", by default the target's vocabulary: the rows of an LM head of its own.
void read_own_head(const Reader&, DrafterConfig&);

}  // namespace draftline::config
