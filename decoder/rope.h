// SPDX-License-Identifier: Apache-2.0
// Rotary embedding (Su et al. 2021): the angle, in radians per position, of each pair of rotated columns, stretched for
// long contexts according to config.json's `rope_scaling`: linear (Chen et al. 2023), Llama 3's, YaRN (Peng et al.
// 2023, section 3.2 and 3.3), LongRoPE (Ding et al. 2024).
#pragma once
#include <vector>

#include "decoder/op.h"

namespace draftline {

std::vector<float> rope_frequencies(const Rope&);  // [columns / 2]
inline float attention_factor(const Rope& r) { return r.scaling ? single(r.scaling->attention_factor) : 1; }
float query_growth(const QueryGrowth&, int position);

}  // namespace draftline
