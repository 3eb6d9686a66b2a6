// SPDX-License-Identifier: Apache-2.0
// Latent attention, and sparse attention over latents that an indexer chooses.
#pragma once
#include "decoder/op/attention.h"

namespace draftline {

// Latent attention (DeepSeek-V2, 2024, section 2.1). A head's query consists of `nope` columns and then `rope` rotated
// columns. kv_b [kv_rank, heads * (nope + value)] expands a latent to each head's key and value. In the absorbed form,
// queries are projected to the space of the latents, which all heads read; in the expanded form, each head has its own
// keys and values.
struct LatentAppend {  // rotates the queries' last columns and the shared key; appends latent and key
  static constexpr std::string_view key = "rope_append";
  static constexpr auto accesses = Accesses::stored_entries;
  Tensor q, latent, shared_key;  // [n, heads * (nope + rope)], [n, kv_rank], [n, rope]
  LatentAttention dims;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out q_rope, k_rope;  // rotated: [n, heads * rope], [n, rope]
  FIELDS(q, latent, shared_key, dims, rope, pass, cache, layer, q_rope, k_rope)
  Kernel work(const Tape&) const;
};
// Multiplies each head's first columns by the transpose of the key part of kv_b -> [n, heads * kv_rank].
struct AbsorbQueries {
  static constexpr std::string_view key = "linear.absorbed";
  Tensor q;
  Weight kv_b;
  LatentAttention dims;
  Out y;
  FIELDS(q, kv_b, dims, y)
  Kernel work(const Tape&) const;
};
struct ExpandValues {  // [n, heads * kv_rank] times the value part of kv_b, per head -> [n, heads * value]
  static constexpr std::string_view key = "linear.absorbed";
  Tensor x;
  Weight kv_b;
  LatentAttention dims;
  Out y;
  FIELDS(x, kv_b, dims, y)
  Kernel work(const Tape&) const;
};
struct LatentAttend {  // absorbed, over the cache: [n, heads * kv_rank] and [n, heads * rope] -> [n, heads * kv_rank]
  static constexpr std::string_view key = "attention";
  static constexpr auto accesses = Accesses::entries;
  Tensor q, q_rope;
  float scale;                   // factor on the scores
  std::optional<Tensor> tokens;  // result of SelectTokens: only these are read
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, q_rope, scale, tokens, pass, cache, layer, y)
  std::string_view key_in(const Tape&) const;
  Window window_read() const;
  Kernel work(const Tape&) const;
};
// Sparse attention (Indexer). IndexAppend rotates the indexer's queries into y and stores its rotated key after the
// row's latent: q [n, heads * dim] -> [n, heads * dim], k [n, dim].
struct IndexAppend {
  static constexpr std::string_view key = "index_append";
  static constexpr auto accesses = Accesses::stored_entries;
  Tensor q, k;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, k, rope, pass, cache, layer, y)
  int held_layer() const { return cache.layers + layer; }  // the indexer's keys are read separately
  Kernel work(const Tape&) const;
};
// Each row's best cache entries among those to which it may attend, ascending; padded with -1: q [n, heads * dim],
// weights [n, heads] -> int32 [n, top_k]. For equal scores the earlier entry is better.
struct SelectTokens {
  static constexpr std::string_view key = "select_tokens";
  static constexpr auto accesses = Accesses::entries;
  Tensor q, weights;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, weights, pass, cache, layer, y)
  int held_layer() const { return cache.layers + layer; }  // the indexer's keys are read separately
  Kernel work(const Tape&) const;
};
// Expanded causal attention among the rows of whole prompts: q as in LatentAppend, kv [n, heads * (nope + value)] ->
// [n, heads * value].
struct ExpandedAttend {
  static constexpr std::string_view key = "attention.prefill.latent";
  Tensor q, q_rope, kv, k_rope;
  LatentAttention dims;
  float scale;
  PassRef pass;
  Out y;
  FIELDS(q, q_rope, kv, k_rope, dims, scale, pass, y)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
