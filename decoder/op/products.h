// SPDX-License-Identifier: Apache-2.0
// Lookups in and products with weight matrices, and the quantisation before products.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

struct Embed {  // ids [n] -> [n, hidden], times `scale`
  static constexpr std::string_view key = "embed";
  Weight table;
  Tensor ids;
  float scale;
  Out y;
  FIELDS(table, ids, scale, y)
  Kernel work(const Tape&) const;
};
struct Linear {  // [n, in] x [in, out] (+ bias [1, out]) -> [n, out]
  static constexpr std::string_view key = "linear";
  static constexpr auto accesses = Accesses::weight;
  Tensor x;
  Weight w;
  std::optional<Weight> bias;
  Out y;
  FIELDS(x, w, bias, y)
  std::string_view key_in(const Tape&) const;
  Kernel work(const Tape&) const;
};
// Quantises rows for a product, with a scale for each `group` of columns (0: the row): x [n, c] -> y [n, c], scales [n,
// groups]. `after`: the op that computed x, with which engines may fuse it. It is only priced: no backend computes in
// fewer than 16 bits.
struct Quantise {
  static constexpr std::string_view key = "quantise";
  enum class After : std::uint8_t { any, norm, activation };
  Tensor x;
  int group;
  After after;
  Out y, scales;
  FIELDS(x, group, after, y, scales)
  std::string_view key_in(const Tape&) const;
};

}  // namespace draftline
