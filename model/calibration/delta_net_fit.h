// SPDX-License-Identifier: Apache-2.0
// Measured kernels of gated delta networks, and the fit of DeltaNetFit to them.
#pragma once
#include <variant>
#include <vector>

#include "core/csv.h"
#include "model/devices/device.h"
#include "model/devices/fit_quality.h"
#include "model/work.h"

namespace draftline {

// A call that comes after equal calls: what it touches is in L2 as far as it fits.
struct DeltaNetPoint {
  std::variant<CausalConvolution, DeltaRule> kernel;
  Seconds time = {};
  int key_heads = 0, value_heads = 0;  // points of one layout of heads are left out together
};

// What calls of one shape leave in L2 for the next: states; rows and what a convolution kept of them.
Bytes left_in_l2(const CausalConvolution&);
Bytes left_in_l2(const DeltaRule&);

Seconds predicted(const DeltaNetFit&, const Device& datasheet, const DeltaNetPoint&);
Seconds predicted(const Device&, const DeltaNetPoint&);  // of a GPU with a fit of delta networks

// `spread`, where given, receives the covariance of the coefficients' logarithms.
DeltaNetFit fit_delta_net(const std::vector<DeltaNetPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// A table of aiconfigurator (gdn.csv; milliseconds) with the heads of one rank. Its kernels are those that vLLM 0.24
// runs; a decode step's keeps its state in fp32. Convolutions of prompts of few rows, which take another way, are left
// out.
inline constexpr int kLeastConvolvedPrompt = 16;
struct DeltaNetTable {
  std::vector<DeltaNetPoint> points;
  int short_prompts = 0;  // rows left out
};
DeltaNetTable read_delta_net_table(const Csv&);

}  // namespace draftline
