// SPDX-License-Identifier: Apache-2.0
// Layers of experts measured by others: the CSV tables of aiconfigurator (moe.csv; milliseconds), rows of one operand
// format on one rank of a tensor-parallel group, by the library that has most of them. With 8- or 4-bit operands
// quantising the activations is in the time.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/csv.h"
#include "model/calibration/expert_fit.h"
#include "model/devices/device.h"

namespace draftline {

// Rows called fp8 are fp8_static where that library's kernels are for checkpoints with one static scale.
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
// Reads the rows whose operands have this format; none: 16 bits.
ExpertTable read_expert_table(const Csv&, const Device& datasheet, std::optional<NarrowFormat> = {});

}  // namespace draftline
