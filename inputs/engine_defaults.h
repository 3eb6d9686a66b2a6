// SPDX-License-Identifier: Apache-2.0
// Defaults of the engine where a scenario is silent: chain or tree, and whether a draft network is divided.
#pragma once
#include "inputs/scenario.h"

namespace draftline {

// Fills Scenario::methods_of_engine; a chain in place of a method's own tree is a note.
void take_engine_defaults(Scenario&);

}  // namespace draftline
