// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in a config.json: DeepSeek's line from its first mixture on, with latent attention from V2 on,
// GLM-4.5, Mixtral and MiniMax-M2. Keys and their defaults are those of transformers 4.57.
#pragma once
#include <string_view>

#include "model/transformers/config_keys.h"

namespace draftline::config {

struct ExpertKeys {
  std::string_view count, intermediate = "moe_intermediate_size", per_token = "num_experts_per_tok";
  bool normalise = false;  // where "norm_topk_prob" is absent
};
Experts read_experts(const Reader&, const ExpertKeys&, int hidden);
// Experts that are scored by sigmoid and chosen with a bias (DeepSeek-V3, GLM, MiMo-V2). `scale`, and how many layers
// before them are `dense`: where the file doesn't say.
void read_experts_with_bias(const Reader&, double scale, ConfigNetwork&, int dense = 0,
                            std::string_view count = "n_routed_experts");

void read_deepseek(const Reader&, ConfigNetwork&);     // the first, DeepSeekMoE
void read_deepseek_v2(const Reader&, ConfigNetwork&);  // V2 and V2-Lite
void read_deepseek_v3(const Reader&, ConfigNetwork&);  // V3, R1 and Kimi-K2
void read_deepseek_v32(const Reader&, ConfigNetwork&);
void read_glm_moe_dsa(const Reader&, ConfigNetwork&);    // GLM-5
void read_glm4_moe_lite(const Reader&, ConfigNetwork&);  // GLM-4.7-Flash
void read_glm4_moe(const Reader&, ConfigNetwork&);
void read_hy_v3(const Reader&, ConfigNetwork&);  // Hunyuan 3
void read_dots1(const Reader&, ConfigNetwork&);
void read_minimax_m2(const Reader&, ConfigNetwork&);
void read_mixtral(const Reader&, ConfigNetwork&);

}  // namespace draftline::config
