// SPDX-License-Identifier: Apache-2.0
// Measured kernels of several residual streams, and the fit of ResidualStreamsFit to them.
#pragma once
#include <vector>

#include "core/csv.h"
#include "model/devices/device.h"
#include "model/devices/fit_quality.h"
#include "model/work.h"

namespace draftline {

// A call that comes after equal calls: streams are in L2 as far as they fit. Points of one width are left out together.
struct StreamMixPoint {
  StreamMix kernel;
  Seconds time = {};
};

Seconds predicted(const ResidualStreamsFit&, const Device& datasheet, const StreamMixPoint&);
Seconds predicted(const Device&, const StreamMixPoint&);  // of a GPU with a fit of residual streams

// `spread`, where given, receives the covariance of the coefficients' logarithms.
ResidualStreamsFit fit_residual_streams(const std::vector<StreamMixPoint>&, const Device& datasheet,
                                        FitSpread* spread = nullptr);

// A table of aiconfigurator (mhc_module.csv; milliseconds of all sites of a layer).
std::vector<StreamMixPoint> read_residual_streams_table(const Csv&);

}  // namespace draftline
