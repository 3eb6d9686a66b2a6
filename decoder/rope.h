// SPDX-License-Identifier: Apache-2.0
// Angle per position of each pair of rotated columns, stretched for long contexts as config.json asks.
#pragma once
#include <vector>

#include "decoder/op.h"

namespace draftline {

std::vector<float> rope_frequencies(const Rope&);

}  // namespace draftline
