// SPDX-License-Identifier: Apache-2.0
// The values of GGUF's blocks. A block holds 32 or 256 values as small integers q and what turns them into numbers:
//   Q4_0, Q5_0, Q8_0   d (q - middle)
//   Q4_1, Q5_1         d q + m
//   Q4_K, Q5_K         d s q - m t, with 6-bit s and t for each 32 values
//   Q6_K               d s (q - 32), with 8-bit s for each 16 values
// d and m are fp16. The layout of the bits is that of ggml's block structures (ggml-common.h).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace draftline {

bool can_dequantise(std::string_view type);
inline constexpr std::string_view kDequantisedTypes =
    "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K";

// The values of whole blocks of a type that can be dequantised. Computes in fp32, as ggml does.
void dequantise(std::string_view type, std::span<const std::uint8_t> blocks, std::span<float> to);

}  // namespace draftline
