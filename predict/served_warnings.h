// SPDX-License-Identifier: Apache-2.0
// What a served benchmark leaves open: terms that it can't tell apart, loads that it has not seen, a fit that its
// priors contradict.
#pragma once
#include "predict/served_fit.h"

namespace draftline {

std::vector<std::string> warnings_of(const std::vector<ServedPoint>&, const std::vector<EngineTerm>&, const PriorFit&);

}  // namespace draftline
