// SPDX-License-Identifier: Apache-2.0
// Kernel times measured by others: attention of the CSV tables of aiconfigurator (milliseconds), 128 columns a head, no
// window, caches of bf16 or fp8 beside activations of bf16, each library apart; and step tables. Its GEMMs are
// gemm_tables'.
#pragma once
#include <filesystem>
#include <vector>

#include "model/kernel_fit.h"
#include "model/transformer_shape.h"

namespace draftline {

std::vector<AttentionPoint> read_decode_table(const std::filesystem::path&);
// Rows of a library that has but a few heads' widths are left out: Triton's. Prompts of one token are left out too: the
// library sends them to its decode kernel.
std::vector<AttentionPoint> read_prefill_table(const std::filesystem::path&);

// Step tables of LLMServingSim (microseconds): the four products of a layer of one network, and attention of decode
// alone or of a chunk of a prompt alone, by FlashAttention 2; mixed steps are left out. Its weights are cold.
inline constexpr int kColdCopies = 1000;
std::vector<GemmPoint> read_step_gemms(const std::filesystem::path&, const TransformerShape&);
std::vector<AttentionPoint> read_step_attention(const std::filesystem::path&, const TransformerShape&);

}  // namespace draftline
