// SPDX-License-Identifier: Apache-2.0
// The time of a layer of experts on a GPU by a separate fit (docs/explanation/kernel_model.md, "Experts"), and of the
// router's GEMM before it.
#pragma once
#include "model/devices/device.h"
#include "model/expert_load.h"

namespace draftline {

// `l2_hit_share`: share of the weights found in L2; within a step, layers evict each other's weights.
Seconds expert_time(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&,
                    double l2_hit_share = 0);

Gemm router_of(const ExpertMlp&);
Seconds router_time(const Device&, const ExpertMlp&);

// The share of a call's weights that is still in L2 when the next call touches the same weights.
double expert_l2_hit_share(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&);

}  // namespace draftline
