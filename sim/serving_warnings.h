// SPDX-License-Identifier: Apache-2.0
// Warnings about simulated runs, to be read before their figures are used.
#pragma once
#include "sim/serving.h"

namespace draftline {

// The warnings, each a sentence. `result`: the runs of a point, with its limits and servers.
std::vector<std::string> serving_warnings(const ServingChoice&, const ServingPoint&, const MethodChoice&,
                                          const ServingResult&);

}  // namespace draftline
