// SPDX-License-Identifier: Apache-2.0
// Number formats and what they occupy.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/int_indexed.h"
#include "core/named.h"
#include "core/quantity.h"

namespace draftline {

enum class DType : std::uint8_t { fp32, bf16, fp16, fp8, int8, int4, int32, fp4 };

inline constexpr NamedValues<DType, 8> kDTypes{{{"fp32", DType::fp32},
                                                {"bf16", DType::bf16},
                                                {"fp16", DType::fp16},
                                                {"fp8", DType::fp8},
                                                {"int8", DType::int8},
                                                {"int4", DType::int4},
                                                {"int32", DType::int32},
                                                {"fp4", DType::fp4}}};
constexpr std::string_view name(DType t) { return name_of(kDTypes, t); }
constexpr int bits_of(DType t) {
  constexpr std::array<int, 8> bits{32, 16, 16, 8, 8, 4, 32, 4};
  return bits[at(t)];
}
constexpr Bytes bytes_of(DType t, double elements) { return {elements * bits_of(t) / 8}; }
constexpr std::optional<DType> dtype_named(std::string_view text) { return value_named(kDTypes, text); }

// What shares a scale of 8-bit operands: a row of inputs; a block of weights, and a group of a row's inputs; or all
// inputs, whose one scale is known in advance.
enum class Scaling : std::uint8_t { rows, blocks, tensor };

}  // namespace draftline
