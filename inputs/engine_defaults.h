// SPDX-License-Identifier: Apache-2.0
// The engine's defaults for values that a scenario does not give: chain or tree, and whether a draft network is
// divided.
#pragma once
#include "inputs/scenario.h"

namespace draftline {

// Fills Scenario::methods_of_engine. Notes if a chain replaces a method's own tree.
void take_engine_defaults(Scenario&);

}  // namespace draftline
