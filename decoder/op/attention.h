// SPDX-License-Identifier: Apache-2.0
// Attention over a cache of keys and values, and among a few rows without one.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Rotates q into y, and appends the rotated k, and v, to the cache behind the tail: q [n, heads * dim] -> [n, heads *
// dim]. Without queries, q and y have no columns. Without keys, k and v have no columns and nothing is appended.
struct RopeAppend {
  static constexpr std::string_view key = "rope_append";
  static constexpr auto accesses = Accesses::stored_entries;
  Tensor q, k, v;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, k, v, rope, pass, cache, layer, y)
  Kernel work(const Tape&) const;
};
struct Attend {  // q [n, heads * dim] over the cache -> [n, heads * value_dim]
  static constexpr std::string_view key = "attention";
  static constexpr auto accesses = Accesses::entries;
  Tensor q;
  PassRef pass;
  Cache cache;
  int layer;
  float scale;                  // factor on the scores
  std::optional<Weight> sinks;  // [1, heads]: an additional score in each head's softmax without a value
  Out y;
  FIELDS(q, pass, cache, layer, scale, sinks, y)
  std::string_view key_in(const Tape&) const;
  Window window_read() const { return cache.window; }
  Kernel work(const Tape&) const;
};
// The key of attention in a pass, which differs for prompts, one row per sequence, and several rows.
std::string_view attention_key(const Pass&);
// Attention within each group of `group` rows, in both directions or causal, without a cache and positions.
struct GroupAttend {
  static constexpr std::string_view key = "group_attention";
  Tensor q, k, v;
  int group, head_dim;
  bool causal;
  Out y;
  FIELDS(q, k, v, group, head_dim, causal, y)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
