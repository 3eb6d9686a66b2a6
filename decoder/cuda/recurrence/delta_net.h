// SPDX-License-Identifier: Apache-2.0
// Gated delta networks: the causal convolution and the gated delta rule over a cache of states. Each is one launch.
// Shapes: decoder/op/recurrence.h.
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
    const auto at = std::ptrdiff_t{layer * kv_slots + kv_slot} * ring + (position + ring) % ring;
    return states + (at * value_heads + head) * key_dim * value_dim;
  }
  DRAFTLINE_BOTH T* row(int layer, int kv_slot, int position) const {
    const auto at = std::ptrdiff_t{layer * kv_slots + kv_slot} * row_ring + (position + row_ring) % row_ring;
    return rows + at * columns();
  }
};

// A layer's states in a pass. `prompts`: nothing precedes the rows, and the last ones alone are kept.
template <class T, class S>
struct LayerStates {
  PassView pass;
  bool prompts;
  StateView<T, S> cache;
  int layer;
};
template <class T, class S>
void convolve(View<const T> x, View<const T> w, const LayerStates<T, S>&, View<T> y, cudaStream_t);

// The fields of GatedDeltaRule but its states.
template <class T>
struct DeltaRuleView {
  View<const T> qkv, gates;
  const T *a_log, *dt_bias;
  View<T> y;
};
template <class T, class S>
void gated_delta_rule(const DeltaRuleView<T>&, const LayerStates<T, S>&, cudaStream_t);

template <class T>
struct GatedRmsNormView {
  View<const T> x, gate;
  const T* w;
  int width;
  float epsilon;
  View<T> y;
};
template <class T>
void gated_rms_norm(const GatedRmsNormView<T>&, cudaStream_t);

}  // namespace draftline::cuda
