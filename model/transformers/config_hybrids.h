// SPDX-License-Identifier: Apache-2.0
// Readers of networks that alternate gated delta networks with gated attention.
#pragma once
#include "model/transformers/config_network.h"

namespace draftline::config {

void read_qwen3_next(const Reader&, ConfigNetwork&);
void read_qwen3_5(const Reader&, ConfigNetwork&);
void read_qwen3_5_moe(const Reader&, ConfigNetwork&);

}  // namespace draftline::config
