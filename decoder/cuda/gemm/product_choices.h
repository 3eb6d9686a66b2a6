// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a matrix product. It is chosen by timing, once for each shape, format and alignment on a
// device and a version of cuBLASLt, and kept in a file, so that another run has the same bits. This header needs no
// CUDA.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
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
  std::array<int, 4> aligned;  // alignment in bytes of w, x, y and the bias
  auto operator<=>(const ProductKey&) const = default;
};
struct ProductChoice {
  std::array<std::uint64_t, 8> algorithm{};  // cuBLASLt's opaque words, valid for one version of it
  std::optional<int> few_rows_splits = {};   // our own kernel instead, with so many splits of its inputs
  bool operator==(const ProductChoice&) const = default;
};

struct ProductChoices {
  struct Where {
    std::string device;
    std::int64_t library = 0;  // cuBLASLt's version
    auto operator<=>(const Where&) const = default;
  };
  std::map<Where, std::map<ProductKey, ProductChoice>> all;
  int timed = 0;  // products that had to be timed, as they were not found here
};

// Throws InputErrors, at Document::finish(), with every mistake in the file.
ProductChoices read_product_choices(const Reader&);
void write_product_choices(std::ostream&, const ProductChoices&);

}  // namespace draftline::cuda
