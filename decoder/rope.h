// SPDX-License-Identifier: Apache-2.0
// Rotary embedding (Su et al. 2021): the angle, in radians per position, of each pair of rotated columns, stretched for
// long contexts as `rope_scaling` of config.json demands.
#pragma once
#include <vector>

#include "decoder/op.h"

namespace draftline {

Rope rope_of(const TransformerShape&);             // of its queries and keys
std::vector<float> rope_frequencies(const Rope&);  // [columns / 2]

}  // namespace draftline
