// SPDX-License-Identifier: Apache-2.0
// Measured layers of experts, and the fit of ExpertFit to them.
#pragma once
#include <filesystem>
#include <vector>

#include "model/fit_quality.h"
#include "model/gpu_expert_time.h"

namespace draftline {

// A call of the layer after others of the same: the weights that it touches are in L2 as far as they fit.
struct ExpertPoint {
  int rows = 0, hidden = 0, intermediate = 0, experts = 0, per_token = 0;
  ExpertLoad load = {};
  Seconds time = {};
  int whole = 0;  // columns of the layer of which this is one rank's share; points of one layer are left out together
};

Seconds predicted(const ExpertFit&, const Device& datasheet, const ExpertPoint&);
Seconds predicted(const Device&, const ExpertPoint&);  // of a GPU with a fit of experts
Bytes touched_weights(const ExpertPoint&);             // 16 bits each
// Are the weights more than twice the L2, so that nearly all come from memory, as in a network?
bool is_cold(const ExpertPoint&, const Device& datasheet);

// `spread`, where given, becomes how sure the coefficients are.
ExpertFit fit_experts(const std::vector<ExpertPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// A table of aiconfigurator (moe.csv; milliseconds): 16-bit layers on one rank of a tensor-parallel group.
struct ExpertTable {
  std::vector<ExpertPoint> points;
  int other_formats = 0;    // rows left out: weights of fewer bits
  int expert_parallel = 0;  // ... whole experts divided among ranks
  int unaligned = 0;        // ... columns that are no multiple of 16, for which the kernels have slow paths
  int not_gated = 0;        // ... faster than three matrices can be read: the layer has two, which no column says
};
ExpertTable read_expert_table(const std::filesystem::path&, const Device& datasheet);

}  // namespace draftline
