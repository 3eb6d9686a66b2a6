// SPDX-License-Identifier: Apache-2.0
// Measured convolutions of state spaces, and the fit of StateSpaceFit to them.
#pragma once
#include <vector>

#include "core/csv.h"
#include "model/devices/device.h"
#include "model/devices/fit_quality.h"
#include "model/work.h"

namespace draftline {

// A call that comes after equal calls: what it touches is in L2 as far as it fits. Points of as many columns are left
// out together.
struct StateSpacePoint {
  CausalConvolution kernel;
  Seconds time = {};
};

Seconds predicted(const StateSpaceFit&, const Device& datasheet, const StateSpacePoint&);
Seconds predicted(const Device&, const StateSpacePoint&);  // without a fit of state spaces by that of delta networks

// `spread`, where given, receives the covariance of the coefficients' logarithms.
StateSpaceFit fit_state_space(const std::vector<StateSpacePoint>&, const Device& datasheet,
                              FitSpread* spread = nullptr);

// A table of aiconfigurator (mamba2.csv; milliseconds), which has the convolutions of whole networks but not their
// scans. Prompts below 16 rows, which take another way, are left out.
struct StateSpaceTable {
  std::vector<StateSpacePoint> points;
  int short_prompts = 0;  // rows left out
};
StateSpaceTable read_state_space_table(const Csv&);

}  // namespace draftline
