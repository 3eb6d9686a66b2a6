// SPDX-License-Identifier: Apache-2.0
// The similarity of the experts that tokens of one sequence choose, from a scenario or data/routing.json: an overlap
// (0: independent draws; 1: all rows of a sequence choose the experts of its first row) or a count. Mistakes are noted
// at their places.
#pragma once
#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// Reads {"consecutive_tokens": {"shared", "experts", "per_token"}}, where `shared` is the share of a token's experts
// that its predecessor also chose. Returns the overlap.
double read_usual_overlap(Reader);

// A scenario's "expert_routing" for one of its networks: {"overlap": 0.2}, or {"experts_touched", "sequences", "rows"}:
// the number of different experts of a layer in measured passes of `rows` rows.
double read_overlap(const Reader&, const Experts&);

}  // namespace draftline
