// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in a config.json.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "model/transformers/config_keys.h"

namespace draftline::config {

inline constexpr auto kTooManyRows =
    "its experts' matrices together have more rows than the 1073741824 that are modelled";
inline bool too_many_rows(const Experts& e, int hidden) {
  return std::int64_t{e.count} * std::max(hidden, e.intermediate) > kMostStackedRows;
}

struct ExpertKeys {
  std::string_view count = "n_routed_experts", intermediate = "moe_intermediate_size",
                   per_token = "num_experts_per_tok";
  bool normalise = false;  // where "norm_topk_prob" is absent
};
Experts read_experts(const Reader&, const ExpertKeys&, int hidden);
void read_experts_everywhere(const Reader&);  // notes a mistake if Qwen's keys leave layers without them
// Sizes of DeepSeek's latent attention, and what all networks with it have alike.
void read_latent_sizes(const Reader&, ConfigNetwork&, std::string_view activation = "silu");
// The same without the sizes outside of the attention, which some files call otherwise.
void read_latent_heads(const Reader&, ConfigNetwork&, std::string_view activation = "silu");
// An indexer, and the layers that share its choice. `paired`: unless the file has "indexer_rope_interleave".
void read_choices(const Reader&, bool paired, ConfigNetwork&);
// Experts that are scored by sigmoid and chosen with a bias (DeepSeek-V3, GLM, MiMo-V2). Defaults of absent keys:
// `scale`, and the number of `dense` layers before them.
void read_experts_with_bias(const Reader&, double scale, ConfigNetwork&, int dense = 0, const ExpertKeys& keys = {});
// What DeepSeek-V2 and its successors say of attention.
void read_latent(const Reader&, ConfigNetwork&, std::string_view activation = "silu");

}  // namespace draftline::config
