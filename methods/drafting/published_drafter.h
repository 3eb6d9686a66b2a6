// SPDX-License-Identifier: Apache-2.0
// The network of a trained drafter: from the folder in the parameter "checkpoint", or the paper's network for
// this target.
#pragma once
#include "methods/table.h"

namespace draftline::methods {

// The published one, for one rank of the target, or else a layer of the target's widths (native_drafter_layer).
DrafterConfig drafter_config(const Context&);

}  // namespace draftline::methods
