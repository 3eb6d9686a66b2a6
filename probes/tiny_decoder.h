// SPDX-License-Identifier: Apache-2.0
// A decoder so small that its steps are the host's work: what probes of the host run, on a CPU and on a GPU, without
// speculation (group A of an engine's profile).
#pragma once
#include "decoder/generate.h"

namespace draftline {

// One head of `columns`, as many in the network; `layers` of them.
TransformerShape tiny_shape(int layers, int columns);

class OneToken : public Method {
  Proposal propose(Ops& ops, Session& s) override;
};

int ops_of_plain_step(int layers);  // that its tape has

// Sequences that all start with a prompt of `context` tokens.
void join_all(Generator&, int sequences, int context);

}  // namespace draftline
