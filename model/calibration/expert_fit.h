// SPDX-License-Identifier: Apache-2.0
// Measured layers of experts, and the fit of ExpertFit to them.
#pragma once
#include <vector>

#include "model/devices/fit_quality.h"
#include "model/kernels/gpu_expert_time.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

// A call of the layer that comes after equal calls: the weights that it touches are in L2 as far as they fit.
struct ExpertPoint {
  int rows = 0, hidden = 0, intermediate = 0, experts = 0, per_token = 0;
  ExpertLoad load = {};
  Seconds time = {};
  int whole = 0;  // columns of the layer of which this is one rank's share; points of one layer are left out together
  Operands operands = {};
  bool routed = false;                      // its time has the product of the router's weights in it
  CacheState state = CacheState::repeated;  // of the weights: what a call finds in L2
};

Seconds predicted(const ExpertFit&, const Device& datasheet, const ExpertPoint&);
Seconds predicted(const Device&, const ExpertPoint&);  // of a GPU with a fit of experts
Bytes touched_weights(const ExpertPoint&);             // with their scales
// Whether the touched weights are more than twice the L2, so that nearly all come from memory, as in a network.
bool from_memory(const ExpertPoint&, const Device& datasheet);

// `spread`, where given, receives the covariance of the coefficients' logarithms. All points have the same operands.
ExpertFit fit_experts(const std::vector<ExpertPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// Makes `fit` the device's fit of experts with these operands.
void put_experts(Device&, const Operands&, const ExpertFit& fit);

}  // namespace draftline
