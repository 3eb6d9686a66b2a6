// SPDX-License-Identifier: Apache-2.0
// Time of a layer of experts on a GPU by a fit of its own (docs/explanation/kernel_model.md, "Experts"), and of the
// router's GEMM before it.
#pragma once
#include "model/devices/device.h"
#include "model/expert_load.h"

namespace draftline {

// `l2_hit_share`: share of the weights found in L2; a step's layers push each other's out.
Seconds expert_time(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&,
                    double l2_hit_share = 0);

Seconds router_time(const Device&, const ExpertMlp&);

// The share of a call's weights that is still in L2 when the next call touches the same weights.
double expert_l2_hit_share(const ExpertFit&, const Device& datasheet, const ExpertMlp&, const ExpertLoad&);

}  // namespace draftline
