// SPDX-License-Identifier: Apache-2.0
// Kernel times measured by others: the CSV tables of aiconfigurator (milliseconds), bf16, 128 columns a head, no window.
#pragma once
#include <filesystem>
#include <vector>

#include "model/kernel_fit.h"

namespace draftline {

// Copies of the weights that its collector of GEMMs rotates through.
inline constexpr int kCollectorCopies = 6;

// The domain of the kernel model: up to 1024 rows, 1024 to 65536 outputs, 1024 to 16384 inputs.
std::vector<GemmPoint> read_gemm_table(const std::filesystem::path&);
std::vector<AttentionPoint> read_decode_table(const std::filesystem::path&);
// Prompts of one token are left out: the library sends them to its decode kernel.
std::vector<AttentionPoint> read_prefill_table(const std::filesystem::path&);

}  // namespace draftline
