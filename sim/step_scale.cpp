// SPDX-License-Identifier: Apache-2.0
#include "sim/step_scale.h"

namespace draftline {

StepScale::StepScale(ServingPoint& point, double factor)
    : point_(point), workload_(point.workload), fleet_(point.fleet), swap_(point.limits.swap_per_token) {
  point.workload = at_rate(workload_, factor);
  FleetShape& fleet = point.fleet;
  for (Seconds* t : {&fleet.transfer_fixed, &fleet.transfer_per_token, &fleet.front_end, &point.limits.swap_per_token})
    *t = *t / factor;
}

StepScale::~StepScale() {
  point_.workload = workload_;
  point_.fleet = fleet_;
  point_.limits.swap_per_token = swap_;
}

}  // namespace draftline
