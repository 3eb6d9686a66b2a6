// SPDX-License-Identifier: Apache-2.0
// The identity of a method's drafter, independent of the location of its files. A trace contains the identity of its
// drafter, which is compared with the scenario's (docs/explanation/traces.md).
#pragma once
#include "inputs/catalogue.h"
#include "methods/method_spec.h"
#include "trace/trace.h"

namespace draftline {

// The identity of the network that the method's "draft" names, or of the published drafter whose folder its
// "checkpoint" names. Weights are unknown without a readable checkpoint there. All members are unknown if the method
// names no drafter or a network with a wrong file.
DrafterIdentity identity_of_drafter(const MethodSpec&, Catalogue&);

}  // namespace draftline
