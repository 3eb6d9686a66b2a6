// SPDX-License-Identifier: Apache-2.0
// The keys of a scenario that only one with a "workload" may have.
#pragma once
#include <array>

namespace draftline {

inline constexpr std::array kServingKeys{"scheduler",       "policy",       "slo",
                                         "latency_targets", "prices",       "devices_per_node",
                                         "replicas",        "replications", "pipeline_parallel",
                                         "disaggregation",  "routing"};

}  // namespace draftline
