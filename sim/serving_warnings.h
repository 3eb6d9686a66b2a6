// SPDX-License-Identifier: Apache-2.0
// What a reader should know of simulated runs before using their figures.
#pragma once
#include "sim/serving.h"

namespace draftline {

// The warnings, each a sentence. `result`: the runs of a point, with its limits and servers.
std::vector<std::string> serving_warnings(const ServingChoice&, const ServingPoint&, const MethodSpec&,
                                          const ServingResult&);

}  // namespace draftline
