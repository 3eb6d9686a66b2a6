// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves a matrix product: chosen by timing once for each shape, format and alignment on a device with a
// cuBLASLt, and kept, so that another run has the same bits. No CUDA header in here: cli/ keeps the file.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "core/reader.h"

namespace draftline::cuda {

struct GemmShape {
  int rows, in, out, x_stride, y_stride;
  bool bf16, bias;
  auto operator<=>(const GemmShape&) const = default;
};
struct ProductKey {
  GemmShape shape;
  std::array<int, 4> aligned;  // bytes: of w, x, y, bias
  auto operator<=>(const ProductKey&) const = default;
};
struct ProductChoice {
  std::array<std::uint64_t, 8> algorithm{};  // cuBLASLt's own words, which hold for that version of it
  int few_rows_splits = 0;                   // above 0: our own kernel, with so many parts
  bool operator==(const ProductChoice&) const = default;
};

struct ProductChoices {
  struct Where {
    std::string device;
    std::int64_t library = 0;  // cuBLASLt's version
    auto operator<=>(const Where&) const = default;
  };
  std::map<Where, std::map<ProductKey, ProductChoice>> all;
  int timed = 0;  // products that were timed, not found here
};

ProductChoices read_product_choices(const Reader&);
void write_product_choices(std::ostream&, const ProductChoices&);

}  // namespace draftline::cuda
