// SPDX-License-Identifier: Apache-2.0
// A network given by its sizes instead of a name or a config.json, because it is unpublished or does not exist yet. Its
// layers are Llama's: RMSNorm, rope, gated MLP, no biases.
#pragma once
#include <array>
#include <string_view>

#include "model/transformers/transformer_shape.h"

namespace draftline {

inline constexpr std::array<std::string_view, 3> kStateFormats{"fp32", "bf16", "fp16"};  // of recurrent states

// {"layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary", "tied_embeddings",
//  "max_positions", "window", "full_attention_every", "name",
//  "experts": {"count", "per_token", "intermediate", "shared", "dense_layers"}}
// Mistakes are noted at their places. Defaults: kv_heads = heads; head_dim = hidden / heads; untied embeddings;
// unlimited positions; no window; no experts.
TransformerShape read_described_transformer(const Reader&);

}  // namespace draftline
