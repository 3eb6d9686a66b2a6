// SPDX-License-Identifier: Apache-2.0
// Runs attention over a cache of keys and values, and among a few rows without one.
#pragma once
#include "decoder/cuda/attention/attention.h"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

template <class T>
AttendShape shape_of(const OnDevice<T>& d, const Attend& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return {.sequences = rows.sequences(),
          .widest = rows.widest,
          .heads = o.q.cols / o.cache.head_dim,
          .kv_heads = o.cache.kv_heads,
          .head_dim = o.cache.head_dim,
          .value_dim = o.cache.value_dim,
          .capacity = d.capacity(o.cache),
          .sms = d.multiprocessors()};
}
template <class T>
void run_op(const OnDevice<T>& d, const Attend& o) {
  attend<T>({.q = d.in(o.q),
             .pass = d.view(o.pass),
             .cache = d.view(o.cache),
             .layer = o.layer,
             .scores = {o.cache.window, o.scale, d.data(o.sinks)},
             .y = d.out(o.y)},
            d.multiprocessors(), d.scratch(), d.stream);
}
template <class T>
int launches_of(const OnDevice<T>& d, const Attend& o) {
  return plan_attend<T>(shape_of(d, o)).launches();
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const Attend& o) {
  return attend_scratch<T>(shape_of(d, o));
}

template <class T>
void run_op(const OnDevice<T>& d, const GroupAttend& o) {
  group_attend<T>({d.in(o.q), d.in(o.k), d.in(o.v), o.group, o.head_dim, o.causal, d.out(o.y)}, d.stream);
}

}  // namespace draftline::cuda
