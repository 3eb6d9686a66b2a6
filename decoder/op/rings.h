// SPDX-License-Identifier: Apache-2.0
// Copies to caches that keep only a part of a text (rings).
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// Copies the newest committed entries of every layer to a ring: for each sequence those of the rows `cu_seqlens[b]` ..
// `last[b]` of its path, which begin at the committed length. `rows`: entries copied per sequence. If there are fewer,
// the last is copied repeatedly; if there are more, the ring's sinks and the last entries are copied.
struct KeepEntries {
  static constexpr std::string_view key = "commit";
  Tensor last, cu_seqlens, kv_slots, lengths;  // [B], [B + 1], [B], [B]
  Cache from, to;
  int rows;
  FIELDS(last, cu_seqlens, kv_slots, lengths, from, to, rows)
  Kernel work(const Tape&) const;
};
// Fills one layer of a ring with the entries of whole prompts to which their last `window` rows attend most, and with
// the entries of these rows (SnapKV, Li et al. 2024, algorithm 1). Entries are ranked for each KV head by the weights
// of all its queries, summed and then averaged over `pool` neighbours. q: rotated, [n, heads * dim]. The best entries
// are replaced last.
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
