// SPDX-License-Identifier: Apache-2.0
// GEMM times measured by others: the CSV tables of aiconfigurator (gemm.csv; milliseconds), rows of one operand format.
// Its collector times whole linear layers: with 8- or 4-bit operands the pass that quantises the activations is in the
// time.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "model/kernel_fit.h"

namespace draftline {

// Copies of the weights that its collector of GEMMs rotates through, but for some formats.
inline constexpr int kCollectorCopies = 6;

struct GemmTable {
  // In the domain of the kernel model: up to 1024 rows, 1024 to 65536 outputs, 1024 to 16384 inputs.
  std::vector<GemmPoint> points;
  int host_bound = 0;  // rows left out: launched one by one, and not three times longer than the host takes to do so
};
// No format: 16 bits.
GemmTable read_gemm_table(const std::filesystem::path&, std::optional<NarrowFormat> = {});

}  // namespace draftline
