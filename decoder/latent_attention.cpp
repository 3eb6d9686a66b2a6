// SPDX-License-Identifier: Apache-2.0
#include "decoder/latent_attention.h"

#include <cmath>

#include "decoder/compressed_attention.h"

namespace draftline {

LatentWeights make_latent(WeightStore& store, const std::string& prefix, const LatentHeads& a, int inputs) {
  const LatentAttention& l = a.dims;
  const int q_columns = a.q_columns(), queries = l.q_rank > 0 ? l.q_rank : q_columns;
  LatentWeights w;
  w.down = store.attention(prefix + "latent.down", inputs, queries + l.kv_rank + l.rope_dim);
  if (l.q_rank > 0) {
    w.q_norm = store.vector(prefix + "latent.q_norm", l.q_rank);
    w.q_up = store.attention(prefix + "latent.q_up", l.q_rank, q_columns);
  }
  w.kv_norm = store.vector(prefix + "latent.kv_norm", l.kv_rank);
  const int expanded = a.expanded_columns();
  w.kv_up = store.attention(prefix + "latent.kv_up", l.kv_rank, expanded);
  // Engines keep a copy in 16 bits beside a matrix of fewer, as their batched products know no scales (vLLM:
  // MLACommonImpl.process_weights_after_loading).
  const bool narrow = bits_of(w.kv_up.dtype) < bits_of(store.precision().activations);
  w.absorbed = narrow ? store.table(prefix + "latent.kv_up.absorbed", l.kv_rank, expanded) : w.kv_up;
  if (const auto& i = l.indexer)
    w.indexer = {.q_up = store.attention(prefix + "indexer.q_up", l.q_rank, i->heads * i->head_dim),
                 .key_and_weights = store.table(prefix + "indexer.key_and_weights", inputs,
                                                (i->pool > 1 ? 2 : 1) * i->head_dim + i->heads),
                 .k_norm = store.vector(prefix + "indexer.k_norm", i->head_dim),
                 .k_norm_bias = store.vector(prefix + "indexer.k_norm_bias", i->head_dim)};
  return w;
}

// y: the layer's input; queries: their normalised latent. -> the tokens that each row attends to.
static Tensor indexed_tokens(Ops& ops, Tensor y, Tensor queries, const IndexerWeights& w, const LatentHeads& a,
                             const LayerPass& at) {
  const Indexer& i = *a.dims.indexer;
  const Tensor both = ops.linear(y, w.key_and_weights);
  const Tensor k = ops.layer_norm(columns(both, 0, i.head_dim), w.k_norm, w.k_norm_bias, single(i.norm_epsilon));
  const Tensor q = ops.index_append(ops.linear(queries, w.q_up), k, a.rope, at);
  const Tensor weights = columns(both, w.key_and_weights.out - i.heads, i.heads);
  if (i.pool == 1) return ops.select_tokens(q, weights, at);
  Attention scores =
      scores_of({i.heads, i.head_dim, i.top_k, i.keys, i.pool * i.key_bytes()}, ops.details(at.pass), q.dtype);
  scores.index_bytes += weights.bytes();
  const Tensor groups =
      ops.priced_alone({"select_tokens", {q, weights}, {}, at.pass, scores, {.every = i.pool}, q}, i.top_k);
  return groups;
}

Tensor latent_attention(Ops& ops, Tensor y, const LatentWeights& w, const LatentHeads& a, const LayerPass& at,
                        std::optional<Tensor>& chosen) {
  const LatentAttention& l = a.dims;
  const auto epsilon = single(l.norm_epsilon);
  const auto scale = single(a.query_scale.value_or(1 / std::sqrt(1.0 * a.head_dim())));
  const Tensor down = ops.linear(y, w.down);
  const int queries = w.down.out - l.kv_rank - l.rope_dim;
  Tensor q = columns(down, 0, queries), q_latent;
  if (w.q_up) q = ops.linear(q_latent = ops.rms_norm(q, *w.q_norm, epsilon), *w.q_up);
  const Tensor latent = ops.rms_norm(columns(down, queries, l.kv_rank), w.kv_norm, epsilon);
  Tensor shared_key = down;  // has no columns where nothing is rotated
  if (l.rope_dim > 0) shared_key = columns(down, queries + l.kv_rank, l.rope_dim);
  else shared_key.cols = 0;
  const LatentAppend rotated = ops.latent_append(q, latent, shared_key, l, a.rope, at);
  if (w.indexer) chosen = indexed_tokens(ops, y, q_latent, *w.indexer, a, at);
  const int most_absorbed = bits_of(at.cache.dtype) < 16 ? l.most_absorbed_8bit : l.most_absorbed;
  if (!chosen && ops.rows(at.pass).prompts && ops.rows(at.pass).widest > most_absorbed)
    return ops.expanded_attend(q, ops.linear(latent, w.kv_up), rotated, scale, at.pass);
  const Tensor absorbed = ops.absorb_queries(q, w.absorbed, l);
  return ops.expand_values(ops.latent_attend(absorbed, rotated.q_rope, scale, at, chosen), w.absorbed, l);
}

}  // namespace draftline
