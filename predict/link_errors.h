// SPDX-License-Identifier: Apache-2.0
// The error of communication between the devices of a setup.
#pragma once
#include "predict/prediction_interval.h"
#include "predict/setup.h"

namespace draftline {

// Of messages of any size: the widest error of the tables that the engine may call in a group of these devices. A table
// of too few points to leave one out has the error of the others. Unknown, with a reason, if the times are borrowed,
// guessed, extended to more devices or all of them derived.
void set_link_errors(KnownErrors&, const Setup&);

}  // namespace draftline
