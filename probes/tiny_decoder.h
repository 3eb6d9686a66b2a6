// SPDX-License-Identifier: Apache-2.0
// A decoder so small that its steps consist of host work alone. Probes of the host run it on a CPU and on a GPU,
// without speculation (group A of an engine's profile).
#pragma once
#include "decoder/generate.h"

namespace draftline {

// A network of `layers` layers with a single head of `columns` columns.
TransformerShape tiny_shape(int layers, int columns);

class OneToken : public Method {
  Proposal propose(Ops& ops, Session& s) override;
};

int ops_of_plain_step(int layers);  // ops on the tape of a step

// Joins sequences with prompts of `context` tokens each.
void join_all(Generator&, int sequences, int context);

}  // namespace draftline
