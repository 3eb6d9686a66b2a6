// SPDX-License-Identifier: Apache-2.0
// Attention over the blocked cache: one kernel for decode, chunked prefill and the verification of a chain or a tree. The
// rows of a sequence times the query heads of a KV head are one matrix, cut into tiles, so that keys and values are read
// once per tile. Long contexts are split between blocks; the last one to finish joins the parts: one launch an op.
#pragma once
#include <cuda_runtime.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

struct AttendShape {
  int sequences, widest, heads, kv_heads, head_dim;
  int capacity;  // entries a sequence may have
  int sms;       // of the device
};

// How an attention is cut up: `splits` of the context at most, `tiles` of `tile_rows` rows x heads for each KV head.
struct AttendPlan {
  int splits, tiles, tile_rows;
  bool tensor_cores;
};
template <class T>
AttendPlan plan_attend(const AttendShape&);

template <class T>
std::size_t attend_scratch(const AttendShape&);

// q [total, heads * head_dim] -> y, the same shape. Scratch: its first kCounterBytes are zero before the first use.
template <class T>
void attend(View<const T> q, const PassView&, const CacheView<T>&, int layer, int sms, const Scratch&, View<T> y,
            cudaStream_t);

// Every `group` rows attend to each other, both ways or back alone; no cache.
template <class T>
void group_attend(View<const T> q, View<const T> k, View<const T> v, int group, int head_dim, bool causal, View<T> y,
                  cudaStream_t);

}  // namespace draftline::cuda
