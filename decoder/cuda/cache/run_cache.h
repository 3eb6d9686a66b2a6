// SPDX-License-Identifier: Apache-2.0
// Runs what is appended to caches and moved within them.
#pragma once
#include "decoder/cuda/attention/sparse_attention.h"
#include "decoder/cuda/cache/latent_append.h"
#include "decoder/cuda/cache/rings.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class T>
void run_op(const OnDevice<T>& d, const RopeAppend& o) {
  rope_append<T>({.q = d.in(o.q),
                  .k = d.in(o.k),
                  .v = d.in(o.v),
                  .rotation = d.rotation(o.rope),
                  .pass = d.view(o.pass),
                  .cache = d.view(o.cache),
                  .layer = o.layer,
                  .y = d.out(o.y)},
                 d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const LatentAppend& o) {
  latent_append<T>({.q = d.in(o.q),
                    .latent = d.in(o.latent),
                    .shared_key = d.in(o.shared_key),
                    .rotation = d.rotation(o.rope),
                    .pass = d.view(o.pass),
                    .cache = d.view(o.cache),
                    .layer = o.layer,
                    .q_rope = d.out(o.q_rope),
                    .k_rope = d.out(o.k_rope)},
                   d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const IndexAppend& o) {
  index_append<T>({.q = d.in(o.q),
                   .k = d.in(o.k),
                   .rotation = d.rotation(o.rope),
                   .pass = d.view(o.pass),
                   .cache = d.view(o.cache),
                   .layer = o.layer,
                   .y = d.out(o.y)},
                  d.stream);
}

template <class T>
void run_op(const OnDevice<T>& d, const Commit& o) {
  commit(d.ids(o.path), d.ids(o.cu_seqlens), d.view(BatchSlots{o.kv_slots, o.lengths, {}}), d.view(o.cache),
         o.cache.layers, d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const Advance& o) {
  advance(d.ids(o.counts), d.out_ids(o.lengths), d.stream);
}

template <class T>
void run_op(const OnDevice<T>& d, const KeepEntries& o) {
  keep_entries<T>({.last = d.ids(o.last),
                   .cu_seqlens = d.ids(o.cu_seqlens),
                   .slots = d.view(BatchSlots{o.kv_slots, o.lengths, {}}),
                   .from = d.view(o.from),
                   .to = d.view(o.to),
                   .layers = o.from.layers,
                   .rows = o.rows},
                  d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SelectEntries& o) {
  select_entries<T>({.q = d.in(o.q),
                     .pass = d.view(o.pass),
                     .from = d.view(o.from),
                     .to = d.view(o.to),
                     .ranking = {o.layer, o.window, o.pool, o.scale}},
                    d.scratch(), d.stream);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const SelectEntries& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return select_scratch(rows.sequences(), rows.widest, o.from.kv_heads);
}

}  // namespace draftline::cuda
