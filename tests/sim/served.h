// SPDX-License-Identifier: Apache-2.0
// What `simulate` finds of a scenario's first point.
#pragma once
#include "sim/serving.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

inline ServingResult served(const std::string& scenario) {
  ServingSweep sweep(Document::from_text(scenario, "s.json"), kData);
  sweep.validate();
  ServingOutcome o = sweep.at(0, {});
  if (const auto* why = std::get_if<std::string>(&o.result)) FAIL("skipped: " << *why);
  return std::get<ServingResult>(std::move(o.result));
}

}  // namespace draftline
