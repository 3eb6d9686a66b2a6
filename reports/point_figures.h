// SPDX-License-Identifier: Apache-2.0
// The inputs that identify a point of a scenario: the columns in front of its figures, and its "inputs" in JSON.
#pragma once
#include "inputs/scenario.h"
#include "inputs/server_options.h"
#include "reports/figure.h"

namespace draftline {

struct PointOf {
  const Scenario& scenario;
  const Point& point;
  const MethodChoice& method() const { return scenario.method(point); }
};

inline std::string version_of(const Engine& e) {  // "vllm-0.10", with the server's options
  return e.name + "-" + e.version + options_text(e);
}

// Whether methods of the scenario differ in acceptance alone.
bool differ_in_acceptance(const Scenario& s);

// The inputs of the points of every scenario, or with `of` those of that scenario: one with a workload has its axes
// (Serving::axes) instead of the batch size.
Figures<PointOf> point_figures(const Scenario* of = nullptr);

}  // namespace draftline
