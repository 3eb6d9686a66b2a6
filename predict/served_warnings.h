// SPDX-License-Identifier: Apache-2.0
// Warnings about a fit to a served benchmark: terms that the runs can't separate, loads that were not measured, a fit
// that contradicts its priors.
#pragma once
#include "predict/served_fit.h"

namespace draftline {

std::vector<std::string> warnings_of(const std::vector<ServedPoint>&, const std::vector<EngineTerm>&, const PriorFit&);

}  // namespace draftline
