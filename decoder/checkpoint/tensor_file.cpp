// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/tensor_file.h"

#include <bit>

namespace draftline {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string all;
  for (const auto n : shape) all += (all.empty() ? "" : ", ") + std::to_string(n);
  return "[" + all + "]";
}

float float_of_half(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000U) << 16, exponent = h >> 10 & 31U, fraction = h & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;  // subnormal, exact
  return sign != 0 ? -small : small;
}

}  // namespace draftline
