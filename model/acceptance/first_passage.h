// SPDX-License-Identifier: Apache-2.0
// How many steps an output takes. Its last step may emit more tokens than are left, and the surplus is thrown away. An
// output therefore takes more steps than its tokens over the mean length of a step.
#pragma once
#include "model/acceptance/acceptance.h"

namespace draftline {

// The expected number of steps until `tokens` are emitted, 0 or more, each step emitting a number of tokens by itself:
// the first passage of their sum. Within 0.0001 steps.
double expected_steps(int tokens, const LengthDistribution&);

}  // namespace draftline
