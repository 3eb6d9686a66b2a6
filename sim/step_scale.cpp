// SPDX-License-Identifier: Apache-2.0
#include "sim/step_scale.h"

#include "sim/step_table.h"

namespace draftline {

// Of the servers that compute prompts.
static StepTable& prompt_table(ServingPoint& point) {
  return *(point.prefill ? point.prefill->prices : point.prices)->table;
}

StepScale::StepScale(ServingPoint& point, double factor, double prompts, std::optional<Seconds> front_end)
    : point_(point), workload_(point.workload), fleet_(point.fleet), swap_(point.limits.swap_per_token) {
  point.workload = at_rate(workload_, factor);
  FleetShape& fleet = point.fleet;
  fleet.front_end = front_end.value_or(fleet.front_end);
  for (Seconds* t : {&fleet.transfer_fixed, &fleet.transfer_per_token, &fleet.front_end, &point.limits.swap_per_token})
    *t = *t / factor;
  prompt_table(point).scale_prompts(prompts);
}

StepScale::~StepScale() {
  prompt_table(point_).scale_prompts(1);
  point_.workload = workload_;
  point_.fleet = fleet_;
  point_.limits.swap_per_token = swap_;
}

}  // namespace draftline
