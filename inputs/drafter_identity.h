// SPDX-License-Identifier: Apache-2.0
// The identity of a method's drafter, which does not depend on where its files lie. A trace holds that of the drafter
// that it was recorded with, to be compared with the scenario's (docs/explanation/traces.md).
#pragma once
#include "inputs/catalogue.h"
#include "methods/method_spec.h"
#include "trace/trace.h"

namespace draftline {

// The identity of the network that the method's "draft" names, or of the published drafter whose folder its
// "checkpoint" names. Weights are not known where no checkpoint lies there, or one that can't be read. Nothing is known
// where the method names no drafter. Mistakes in a network's file are noted at its name.
DrafterIdentity identity_of_drafter(const MethodSpec&, Catalogue&);

}  // namespace draftline
