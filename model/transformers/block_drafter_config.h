// SPDX-License-Identifier: Apache-2.0
// The config.json of drafters that propose a block at once: DFlash (z-lab's and ModelOpt's form, and that of the
// speculators library), DSpark (DeepSpec's, ModelOpt's and speculators'), DFlash 2 (z-lab's and speculators') and
// Domino (its authors', SpecForge's and ModelOpt's). Their layers are Qwen3's. Keys follow z-lab/dflash,
// jianuo-huang/Domino, speculators 0.4, DeepSpec, ModelOpt and vLLM 0.20.
#pragma once
#include "model/transformers/drafter_config.h"

namespace draftline::config {

// Reads the form that DrafterConfig::kind selects: dflash, dspark, dflash2 or domino. Mistakes are noted, also for
// features that the networks of methods/ lack. Features without a cost (scales, caps, sinks) are ignored.
void read_block_drafter(const Reader&, DrafterConfig&);
// Notes scales and caps as mistakes, because a drafter with them can be priced but not decoded.
void refuse_scales(const Reader&);

// ---- keys that mean the same in drafters of several kinds
// Ids of the target's layers, whose states the drafter reads. `later`: 0 for ids of layers that a state enters, 1 for
// those that it leaves; -1 is the embedding then.
void read_states(const Reader& ids, int later, DrafterConfig&);
void refuse_other_width(const Reader&, const DrafterConfig&);  // by "target_hidden_size"
// "draft_vocab_size", by default the target's vocabulary: the rows of an LM head of its own.
void read_own_head(const Reader&, DrafterConfig&);

}  // namespace draftline::config
