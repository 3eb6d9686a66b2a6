// SPDX-License-Identifier: Apache-2.0
// Runs latent attention and sparse attention.
#pragma once
#include "decoder/cuda/attention/latent_attention.h"
#include "decoder/cuda/attention/sparse_attention.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class T>
LatentShape shape_of(const OnDevice<T>& d, const LatentAttend& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return {.sequences = rows.sequences(),
          .widest = rows.widest,
          .heads = o.q.cols / o.cache.latent,
          .rank = o.cache.latent,
          .rope = o.cache.head_dim - o.cache.latent,
          .capacity = d.capacity(o.cache),
          .sms = d.multiprocessors(),
          .shared = d.s.device.shared};
}
template <class T>
void run_op(const OnDevice<T>& d, const LatentAttend& o) {
  if (o.tokens)
    attend_to_tokens<T>({.q = d.in(o.q),
                         .q_rope = d.in(o.q_rope),
                         .tokens = d.ids(*o.tokens),
                         .pass = d.view(o.pass),
                         .cache = d.view(o.cache),
                         .layer = o.layer,
                         .scale = o.scale,
                         .heads = o.q.cols / o.cache.latent,
                         .y = d.out(o.y)},
                        d.stream);
  else
    latent_attend<T>({.q = d.in(o.q),
                      .q_rope = d.in(o.q_rope),
                      .pass = d.view(o.pass),
                      .cache = d.view(o.cache),
                      .layer = o.layer,
                      .scale = o.scale,
                      .y = d.out(o.y)},
                     shape_of(d, o), d.scratch(), d.stream);
}
template <class T>
int launches_of(const OnDevice<T>& d, const LatentAttend& o) {
  return o.tokens ? 1 : plan_latent<T>(shape_of(d, o)).launches();
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const LatentAttend& o) {
  return o.tokens ? 0 : latent_scratch<T>(shape_of(d, o));
}

template <class T>
void run_op(const OnDevice<T>& d, const ExpandedAttend& o) {
  const LatentAttention& l = o.dims;
  expanded_attend<T>({.q = d.in(o.q),
                      .q_rope = d.in(o.q_rope),
                      .kv = d.in(o.kv),
                      .k_rope = d.in(o.k_rope),
                      .pass = d.view(o.pass),
                      .scale = o.scale,
                      .y = d.out(o.y)},
                     {o.q_rope.cols / l.rope_dim, l.nope_dim, l.rope_dim, l.value_dim}, d.stream);
}

template <class T>
void run_op(const OnDevice<T>& d, const SelectTokens& o) {
  select_tokens<T>({.q = d.in(o.q),
                    .weights = d.in(o.weights),
                    .pass = d.view(o.pass),
                    .cache = d.view(o.cache),
                    .layer = o.layer,
                    .y = d.out_ids(o.y)},
                   d.capacity(o.cache), d.scratch(), d.stream);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const SelectTokens& o) {
  return select_tokens_scratch(d.pass(o.pass).rows.total, d.capacity(o.cache));
}

}  // namespace draftline::cuda
