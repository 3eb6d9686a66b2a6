// SPDX-License-Identifier: Apache-2.0
// The formats of a scenario: a short name such as "fp8", or an object with a format per class of tensor
// (docs/explanation/prediction.md, "Precision"). A class without a format uses the checkpoint's (its
// quantization_config), or else bf16.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/reader.h"
#include "model/transformers/precision.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// The words of a scenario for formats of layers; of activations and embeddings; and of the KV cache.
const std::vector<std::string_view>& format_names();
inline constexpr std::string_view kOfCheckpoint = "auto";
inline constexpr std::array<std::string_view, 6> kWideFormats{"bf16", "fp16", "fp32", "bfloat16", "half", "float"};
inline constexpr std::array<std::string_view, 10> kCacheFormats{kOfCheckpoint, "fp8",      "bf16",     "fp16", "fp32",
                                                                "fp8_e4m3",    "fp8_e5m2", "bfloat16", "q8_0", "q4_0"};

struct PrecisionChoice {
  // Names of formats (model/transformers/precision); none: not given.
  std::optional<std::string> weights = {}, attention = {}, experts = {}, lm_head = {}, draft = {};
  std::optional<DType> activations = {}, kv_cache = {}, embedding = {};

  Precision of(const TransformerShape& target) const;
  // A warning if the target's checkpoint has other formats; else none.
  std::optional<std::string> contradiction(const TransformerShape& target) const;
  bool operator==(const PrecisionChoice&) const = default;
};

// The alternatives of the key "precision"; lists inside an object form a product. Mistakes are noted at their places.
std::vector<PrecisionChoice> read_precisions(const Reader& scenario);

}  // namespace draftline
