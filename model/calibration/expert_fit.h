// SPDX-License-Identifier: Apache-2.0
// Measured layers of experts, and the fit of ExpertFit to them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/csv.h"
#include "model/devices/fit_quality.h"
#include "model/kernels/gpu_expert_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

// A call of the layer after others of the same: the weights that it touches are in L2 as far as they fit.
struct ExpertPoint {
  int rows = 0, hidden = 0, intermediate = 0, experts = 0, per_token = 0;
  ExpertLoad load = {};
  Seconds time = {};
  int whole = 0;  // columns of the layer of which this is one rank's share; points of one layer are left out together
  Operands operands = {};
};

Seconds predicted(const ExpertFit&, const Device& datasheet, const ExpertPoint&);
Seconds predicted(const Device&, const ExpertPoint&);  // of a GPU with a fit of experts
Bytes touched_weights(const ExpertPoint&);             // with their scales
// Are the weights more than twice the L2, so that nearly all come from memory, as in a network?
bool is_cold(const ExpertPoint&, const Device& datasheet);

// `spread`, where given, becomes how sure the coefficients are.
// All points have the same operands.
ExpertFit fit_experts(const std::vector<ExpertPoint>&, const Device& datasheet, FitSpread* spread = nullptr);

// Makes `fit` the device's own of experts with these operands.
void put_experts(Device&, const Operands&, const ExpertFit& fit);

// A table of aiconfigurator (moe.csv; milliseconds): layers of one format on one rank of a tensor-parallel group, by
// the library that has most of them. With 8- or 4-bit operands quantising the activations is in the time. Rows called
// fp8 are fp8_static where that library's kernels are for checkpoints with one static scale.
struct ExpertTable {
  std::string library;  // as the table calls it
  std::vector<ExpertPoint> points;
  int other_formats = 0;    // rows left out: operands of another format
  int other_libraries = 0;  // ... of another library
  int expert_parallel = 0;  // ... whole experts divided among ranks
  int unaligned = 0;        // ... columns that are no multiple of 16, for which the kernels have slow paths
  // ... faster, in some format of the table, than three matrices can be read: the layer has two, which no column says.
  int not_gated = 0;
};
// No format: 16 bits.
ExpertTable read_expert_table(const Csv&, const Device& datasheet, std::optional<NarrowFormat> = {});

}  // namespace draftline
