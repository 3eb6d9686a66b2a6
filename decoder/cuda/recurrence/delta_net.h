// SPDX-License-Identifier: Apache-2.0
// Gated delta networks: the causal convolution and the gated delta rule over a cache of states. Each is one launch.
// Shapes: decoder/op.h.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// The rings of one StateCache: [layer][KV slot][position mod ring] of states [value heads, key_dim, value_dim] in S, or
// of rows in T.
template <class T, class S>
struct StateView {
  S* states = nullptr;
  T* rows = nullptr;
  int kv_slots = 0, ring = 0, row_ring = 0;
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 0;
  DRAFTLINE_BOTH int columns() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  DRAFTLINE_BOTH S* state(int layer, int kv_slot, int position, int head) const {
    const auto at = static_cast<std::ptrdiff_t>(layer * kv_slots + kv_slot) * ring + (position + ring) % ring;
    return states + (at * value_heads + head) * key_dim * value_dim;
  }
  DRAFTLINE_BOTH T* row(int layer, int kv_slot, int position) const {
    const auto at =
        static_cast<std::ptrdiff_t>(layer * kv_slots + kv_slot) * row_ring + (position + row_ring) % row_ring;
    return rows + at * columns();
  }
};

// `prompts`: nothing precedes the rows, and the last ones alone are kept.
template <class T, class S>
void convolve(View<const T> x, View<const T> w, const PassView&, bool prompts, StateView<T, S>, int layer, View<T> y,
              cudaStream_t);
template <class T, class S>
void gated_delta_rule(View<const T> qkv, View<const T> gates, const T* a_log, const T* dt_bias, const PassView&,
                      bool prompts, StateView<T, S>, int layer, View<T> y, cudaStream_t);
template <class T>
void gated_rms_norm(View<const T> x, View<const T> gate, const T* w, int width, float epsilon, View<T> y, cudaStream_t);

}  // namespace draftline::cuda
