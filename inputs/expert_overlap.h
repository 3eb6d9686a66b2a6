// SPDX-License-Identifier: Apache-2.0
// How alike the tokens of one sequence choose their experts, from a scenario or data/routing.json: an overlap (0:
// independent draws; 1: all rows of a sequence choose the experts of its first row) or a count. Mistakes are noted
// at their places.
#pragma once
#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// Reads {"consecutive_tokens": {"shared", "experts", "per_token"}}, where `shared` is the share of a token's experts
// that are its predecessor's too. Returns the overlap.
double read_usual_overlap(Reader);

// A scenario's "expert_routing" for one of its networks: {"overlap": 0.2}, or {"experts_touched", "sequences", "rows"}:
// how many different experts of a layer were counted in passes of `rows` rows.
double read_overlap(const Reader&, const Experts&);

}  // namespace draftline
