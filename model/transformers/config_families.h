// SPDX-License-Identifier: Apache-2.0
// The architectures whose config.json can be read. A new one is a function and a row in config_families.cpp.
#pragma once
#include <span>
#include <string_view>

#include "model/transformers/config_network.h"

namespace draftline::config {

// ---- in config_experts.cpp
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
// ---- in config_windows.cpp: some of whose layers see a window of the text
void read_gemma3(const Reader&, ConfigNetwork&);
void read_gemma4(const Reader&, ConfigNetwork&);
void read_gpt_oss(const Reader&, ConfigNetwork&);
void read_llama4(const Reader&, ConfigNetwork&);
void read_smollm3(const Reader&, ConfigNetwork&);
void read_olmo2(const Reader&, ConfigNetwork&);
void read_olmo3(const Reader&, ConfigNetwork&);
void read_exaone4(const Reader&, ConfigNetwork&);
void read_mimo_v2_flash(const Reader&, ConfigNetwork&);
// ---- in config_hybrids.cpp: that alternate gated delta networks with attention
void read_qwen3_next(const Reader&, ConfigNetwork&);
void read_qwen3_5(const Reader&, ConfigNetwork&);
void read_qwen3_5_moe(const Reader&, ConfigNetwork&);
void read_kimi_linear(const Reader&, ConfigNetwork&);  // and Kimi-K3
// ---- in config_state_spaces.cpp: some of whose layers are state spaces (Mamba-2)
void read_nemotron_h(const Reader&, ConfigNetwork&);
void read_granite_hybrid(const Reader&, ConfigNetwork&);
void read_falcon_h1(const Reader&, ConfigNetwork&);

void read_jamba(const Reader&, ConfigNetwork&);           // Mamba-1
void read_bailing_hybrid(const Reader&, ConfigNetwork&);  // Ling 3
void read_bailing_linear(const Reader&, ConfigNetwork&);  // Ling 2.5, Ring 2.5
// ---- in config_sparse.cpp: whose attention chooses what it reads
void read_deepseek_v4(const Reader&, ConfigNetwork&);
void read_minimax_m3(const Reader&, ConfigNetwork&);
void read_glm5_next(const Reader&, ConfigNetwork&);  // GLM-5.3-Flash
// ---- in config_unlike_layers.cpp
void read_decilm(const Reader&, ConfigNetwork&);  // Nemotron-Super-49B
void read_step3(const Reader&, ConfigNetwork&);   // Step-3.5, Step-3.7

// ---- in config_ungated.cpp: whose MLPs have no gate
void read_starcoder2(const Reader&, ConfigNetwork&);
void read_gpt_neox(const Reader&, ConfigNetwork&);
void read_opt(const Reader&, ConfigNetwork&);
// ---- in config_mixtures.cpp
void read_internlm3(const Reader&, ConfigNetwork&);
void read_glm(const Reader&, ConfigNetwork&);   // GLM-4-9B
void read_glm4(const Reader&, ConfigNetwork&);  // GLM-4-0414
void read_qwen2_moe(const Reader&, ConfigNetwork&);
void read_phimoe(const Reader&, ConfigNetwork&);
void read_bailing_moe(const Reader&, ConfigNetwork&);     // Ling-lite, Ling-plus
void read_bailing_moe_v2(const Reader&, ConfigNetwork&);  // Ling 2, Ring 2
void read_mistral4(const Reader&, ConfigNetwork&);        // Mistral Small 4
void read_longcat(const Reader&, ConfigNetwork&);         // LongCat-Flash

// The keys of the text of a network that also sees or hears, wherever its file has them; none: they are not apart.
std::optional<Reader> text_tower(const Reader&);

struct Family {
  std::string_view architecture, model_type;
  void (*read)(const Reader&, ConfigNetwork&);
};
std::span<const Family> families();
const Family* family(std::string_view architecture);  // null if it is unknown

// A published architecture with a part that is not modelled.
struct Unmodelled {
  std::string_view architecture, part, instead;  // instead: what its user can do
};
const Unmodelled* unmodelled(std::string_view architecture);  // null: it is known, or nothing is known of it

// read_transformer() (model/transformers/transformer_shape) as this known architecture, whatever architecture the file
// names.
TransformerShape read_transformer_as(std::string_view architecture, const Reader&);

}  // namespace draftline::config
