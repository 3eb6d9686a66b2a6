// SPDX-License-Identifier: Apache-2.0
// What a scenario leaves to its engine: whether drafts are a chain, and whether a draft network is divided. Where a
// scenario has several engines, only what all of them do.
#pragma once
#include "inputs/scenario.h"

namespace draftline {

// Completes the scenario's methods; a chain in the place of a method's own tree is told to the user.
void take_engine_defaults(Scenario&, Catalogue&);

}  // namespace draftline
