// SPDX-License-Identifier: Apache-2.0
// Attention over the blocked KV cache. One kernel serves decode, chunked prefill and the verification of chains and
// trees. The rows of a sequence times the query heads of a KV head form one matrix, which is cut into tiles, so that
// keys and values are read once per tile. Long contexts are split among CTAs, and a second launch joins the parts.
#pragma once
#include <cuda_runtime.h>

#include "decoder/cuda/runtime/view.h"
#include "decoder/tensor.h"

namespace draftline::cuda {

struct AttendShape {
  int sequences, widest, heads, kv_heads;
  int head_dim, value_dim;  // columns of a query and of a key; of a value and of a result
  int capacity;             // cache entries that a sequence may have
  int sms;                  // of the device
};

// How an attention is cut: at most `splits` parts of the context, and `tiles` tiles of `tile_rows` rows x heads per KV
// head.
struct AttendPlan {
  int splits = 1, tiles = 1, tile_rows = 1;
  bool tensor_cores = false;
  int launches() const { return splits > 1 ? 2 : 1; }
};
template <class T>
AttendPlan plan_attend(const AttendShape&);

// Bytes of scratch memory.
template <class T>
std::size_t attend_scratch(const AttendShape&);

// What of the text a row attends to, and how scores become weights.
struct Scores {
  Window window = {};
  float scale = 1;              // of q against keys
  const void* sinks = nullptr;  // [heads] in q's format: a score of each head's softmax that attends to nothing
};

// q [total, heads * head_dim] -> y [total, heads * value_dim].
template <class T>
struct AttendView {
  View<const T> q;
  PassView pass;
  CacheView<T> cache;
  int layer;
  Scores scores;
  View<T> y;
};
// `sms`: of the device. Scratch: attend_scratch() bytes. A Bug if it is too small, or if a head has more than 512
// columns.
template <class T>
void attend(const AttendView<T>&, int sms, const Scratch&, cudaStream_t);

// The fields of GroupAttend in decoder/op/attention.h.
template <class T>
struct GroupAttendView {
  View<const T> q, k, v;
  int group, head_dim;
  bool causal;
  View<T> y;
};
template <class T>
void group_attend(const GroupAttendView<T>&, cudaStream_t);

}  // namespace draftline::cuda
