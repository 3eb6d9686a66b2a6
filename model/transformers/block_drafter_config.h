// SPDX-License-Identifier: Apache-2.0
// The config.json of drafters that propose a block at once: DFlash (z-lab's and ModelOpt's form, and that of the
// speculators library), DSpark (DeepSpec's, ModelOpt's and speculators') and DFlash 2 (z-lab's and speculators'). Their
// layers are Qwen3's. Keys follow z-lab/dflash, speculators 0.4, DeepSpec, ModelOpt and vLLM 0.20.
#pragma once
#include "model/transformers/drafter_config.h"

namespace draftline::config {

// DrafterConfig::kind, one of dflash, dspark and dflash2, says what is read. Mistakes are noted, also for what the
// networks of methods/ do not have. What costs nothing is ignored: scales, caps and sinks.
void read_block_drafter(const Reader&, DrafterConfig&);
// Notes scales and caps as mistakes, as a drafter that has them can be priced but not decoded.
void refuse_scales(const Reader&);

}  // namespace draftline::config
