// SPDX-License-Identifier: Apache-2.0
// Notes on an acceptance that is probably not meant as it is written (docs/reference/acceptance.md).
#pragma once
#include <span>

#include "inputs/scenario.h"

namespace draftline {

// Notes each "rate" that looks like the share of accepted drafts that engines print: it equals the share of another
// method's acceptance, or it is lower than trained drafters' rates are. Other shares can't be told from rates.
void note_likely_shares(std::span<const MethodChoice>);

}  // namespace draftline
