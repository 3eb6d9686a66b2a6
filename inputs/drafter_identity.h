// SPDX-License-Identifier: Apache-2.0
// By what a method's drafter is known, wherever its files lie: what a trace holds of the drafter that it was recorded
// with is compared with the scenario's (docs/traces.md).
#pragma once
#include "inputs/catalogue.h"
#include "methods/method_spec.h"
#include "trace/trace.h"

namespace draftline {

// Of the method's "draft", a network, or its "checkpoint", a published drafter's folder. Weights are not known where no
// checkpoint lies there, or one that can't be read; nothing is where the method names no drafter. Mistakes in a
// network's file are noted at its name.
DrafterIdentity identity_of_drafter(const MethodSpec&, Catalogue&);

}  // namespace draftline
