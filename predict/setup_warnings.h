// SPDX-License-Identifier: Apache-2.0
// What a reader should know of a setup before using its figures.
#pragma once
#include <string>
#include <vector>

#include "model/kernels/operand_fits.h"
#include "predict/setup.h"

namespace draftline {

// The warnings, each a sentence. The choice must be attention_of() that setup, the fits its chosen_fits().
std::vector<std::string> setup_warnings(const Setup&, const MethodSpec&, const AttentionChoice&, const ChosenFits&);

}  // namespace draftline
