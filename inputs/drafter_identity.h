// SPDX-License-Identifier: Apache-2.0
// The identity of a method's drafter, independent of the location of its files. A trace holds the identity of its
// drafter, to be compared with the scenario's (docs/explanation/traces.md).
#pragma once
#include "inputs/catalogue.h"
#include "methods/method_spec.h"
#include "trace/trace.h"

namespace draftline {

// The identity of the network that the method's "draft" names, or of the published drafter whose folder its
// "checkpoint" names. Weights are unknown without a readable checkpoint there. Nothing is known if the method names no
// drafter, or a network whose file is wrong.
DrafterIdentity identity_of_drafter(const MethodSpec&, Catalogue&);

}  // namespace draftline
