// SPDX-License-Identifier: Apache-2.0
// What a scenario leaves to its engine: whether drafts are a chain, and whether a draft network is divided.
#pragma once
#include "inputs/scenario.h"

namespace draftline {

// Fills Scenario::methods_of_engine; a chain in the place of a method's own tree is told to the user.
void take_engine_defaults(Scenario&);

}  // namespace draftline
