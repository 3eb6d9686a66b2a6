// SPDX-License-Identifier: Apache-2.0
// A network described by its shapes alone, where a name or a config.json could stand: one that isn't published, or
// isn't built yet. Its layers are Llama's: RMSNorm, rope, gated MLP, no biases.
#pragma once
#include "model/transformers/transformer_shape.h"

namespace draftline {

// {"layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary", "tied_embeddings",
//  "max_positions", "window", "full_attention_every", "name",
//  "experts": {"count", "per_token", "intermediate", "shared", "dense_layers"}}
// Mistakes are noted at their places. Defaults: as many KV heads as heads, of the hidden size's share; untied; a text
// of any length; no window; no experts.
TransformerShape read_described_transformer(const Reader&);

}  // namespace draftline
