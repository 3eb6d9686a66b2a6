// SPDX-License-Identifier: Apache-2.0
// Families some of whose layers see a window of the text: keys and defaults of transformers' configuration classes
// Gemma3TextConfig, GptOssConfig and Llama4TextConfig (4.57).
#pragma once
#include "model/transformers/config_network.h"

namespace draftline::config {

void read_gemma3(const Reader&, ConfigNetwork&);
void read_gemma4(const Reader&, ConfigNetwork&);
void read_gpt_oss(const Reader&, ConfigNetwork&);
void read_llama4(const Reader&, ConfigNetwork&);
void read_smollm3(const Reader&, ConfigNetwork&);
void read_olmo2(const Reader&, ConfigNetwork&);
void read_olmo3(const Reader&, ConfigNetwork&);
void read_exaone4(const Reader&, ConfigNetwork&);
void read_mimo_v2_flash(const Reader&, ConfigNetwork&);

}  // namespace draftline::config
