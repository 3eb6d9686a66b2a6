// SPDX-License-Identifier: Apache-2.0
// The parameters of a network against what its folder says of them: a count in its config.json, the bytes in the index
// of its weights, or its name ("8B", "30B-A3B").
#pragma once
#include <optional>
#include <string_view>

#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// Billions of parameters that a name says, with the unit of its last digit: 0.6 by 0.1 in "qwen3-0.6b", 30 by 10 in
// "30B-A3B". None in "8x7B" and "17B-128E", which say something else.
struct NamedCount {
  double billions = 0, unit = 1;
  // Names round or truncate, and some leave out the embedding.
  bool fits(double parameters, double embedding) const;
};
struct NamedCounts {
  std::optional<NamedCount> all, active;
};
NamedCounts counts_in_name(std::string_view name);

// Notes a difference of more than 3 %, or beyond the rounding of a name.
void check_parameters(const Reader& config, const TransformerShape&);

}  // namespace draftline
