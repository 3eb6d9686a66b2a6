// SPDX-License-Identifier: Apache-2.0
// What Llama and its descendants say alike in a config.json.
#pragma once
#include "model/transformers/config_keys.h"

namespace draftline::config {

inline constexpr auto kNoOutputBias = "a bias on the attention's output is not modelled";

// Reads sizes, activation and rope; the MLP's columns are `intermediate_size`.
void read_gated(const Reader&, ConfigNetwork&);

// What families built like Llama take absent keys to mean.
struct Defaults {
  bool kv_heads_may_lack;  // then as many as heads
  int positions;
  double epsilon;
  int head_dim = 0;  // 0: the hidden size's share
};
void read_like_llama(const Reader&, const Defaults&, ConfigNetwork&);

}  // namespace draftline::config
