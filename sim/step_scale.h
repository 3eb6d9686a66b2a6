// SPDX-License-Identifier: Apache-2.0
// A point whose steps take longer or shorter than predicted.
#pragma once
#include <optional>

#include "sim/serving_point.h"

namespace draftline {

// While it lives, every step of the point takes `factor` times its predicted time, and what prompts add to a step takes
// `prompts` times that; the front end takes `front_end`, if given. The runs are by a clock that is `factor` times as
// slow: steps take as long as predicted, requests come more often, and links and the front end are faster. Multiply
// times of such a run by `factor`, and divide rates by it. The point must outlive the scale.
class StepScale {
 public:
  StepScale(ServingPoint& point, double factor, double prompts = 1, std::optional<Seconds> front_end = {});
  ~StepScale();
  StepScale(const StepScale&) = delete;
  StepScale& operator=(const StepScale&) = delete;

 private:
  ServingPoint& point_;
  const Workload workload_;
  const FleetShape fleet_;
  const Seconds swap_;
};

}  // namespace draftline
