// SPDX-License-Identifier: Apache-2.0
// How alike the rows of a pass choose experts, from a scenario or data/routing.json. Mistakes are noted at their
// places.
#pragma once
#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// The values of data/routing.json, where a scenario gives none.
struct UsualRouting {
  ExpertRouting many_topics, one_topic;  // of the sequences of a batch
};
UsualRouting read_usual_routing(const Reader&);

// A scenario's "expert_routing" for one of its networks: {"topics", "overlap", "load_cv"}, all optional. Instead of the
// overlap the number of different experts of a layer: {"experts_touched", "sequences", "rows"}, or {"counted":
// [{"rows", "experts_touched"}, ..]} of one sequence.
ExpertRouting read_routing(const Reader&, const Experts&, const UsualRouting&);

}  // namespace draftline
