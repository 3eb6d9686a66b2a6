// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention over Ops (DeepSeek-V2, 2024, section 2.1.2): the cache contains, for each token, a latent
// and the rotated part of its key, which all heads share. In the absorbed form, queries are projected to the space of
// the latents, which serve as one key for all heads; it computes decoding, verification and short prompts. Longer
// prompts expand keys and values of each head from latents, which needs less arithmetic
// (LatentAttention::most_absorbed; vLLM's MLACommonImpl). With an indexer all rows are absorbed, because each row has
// its own keys.
#pragma once
#include "decoder/ops.h"
#include "model/transformers/layer_shape.h"

namespace draftline {

// An indexer (Indexer): its queries are computed from the latent of the queries, its key and the weights of its heads
// from the layer's input. Engines keep the second matrix in 16 bits.
struct IndexerWeights {
  Weight q_up;             // [q_rank, heads * head_dim]
  Weight key_and_weights;  // [hidden, head_dim + heads]
  Weight k_norm, k_norm_bias;
};

struct LatentWeights {
  // [hidden, queries + kv_rank + rope_dim]: the latent of the queries (the queries themselves if q_rank is 0), the
  // latent of keys and values, and the shared key.
  Weight down;
  std::optional<Weight> q_norm, q_up;  // for the queries' latent
  Weight kv_norm, kv_up;               // kv_up: for each head the columns of keys, then of values
  Weight absorbed;                     // kv_up for the absorbed form, with at least the activations' bits
  std::optional<IndexerWeights> indexer;
};
// `inputs`: columns of its input.
LatentWeights make_latent(WeightStore&, const std::string& prefix, const LatentHeads&, int inputs);

// y [n, inputs] -> [n, heads * value_dim]; `layer`: of a latent cache. `chosen`: the tokens to which the rows attend. A
// layer with an indexer writes it; a layer that shares an earlier layer's choice reads it.
Tensor latent_attention(Ops&, Tensor y, const LatentWeights&, const LatentHeads&, const LayerPass&,
                        std::optional<Tensor>& chosen);

}  // namespace draftline
