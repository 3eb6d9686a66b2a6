// SPDX-License-Identifier: Apache-2.0
// What is copied into caches that keep a part of a text.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Copies the newest committed entries of every layer into a cache that is a ring: of each sequence those of the rows
// `cu_seqlens[b]` .. `last[b]` of its path, which begin at the committed length. `rows`: entries that are copied of
// each sequence; of fewer the last is copied again, and of more the ring's sinks and the last ones.
struct KeepEntries {
  static constexpr std::string_view key = "commit";
  Tensor last, cu_seqlens, kv_slots, lengths;  // [B], [B + 1], [B], [B]
  Cache from, to;
  int rows;
  FIELDS(last, cu_seqlens, kv_slots, lengths, from, to, rows)
  Kernel work(const Tape&) const;
};
// Fills one layer of a ring with the entries of whole prompts to which their last `window` rows attend most, and with
// these rows' own (SnapKV, Li et al. 2024, algorithm 1): of each KV head, by the weights of all its queries, added up
// and then averaged over `pool` neighbours. q: rotated, [n, heads * dim]. The best stay longest when others come.
struct SelectEntries {
  static constexpr std::string_view key = "select_entries";
  Tensor q;
  PassRef pass;
  Cache from, to;
  int layer, window, pool;
  float scale;  // of q against keys
  FIELDS(q, pass, from, to, layer, window, pool, scale)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
