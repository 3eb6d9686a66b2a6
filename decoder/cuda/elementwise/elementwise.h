// SPDX-License-Identifier: Apache-2.0
// Embedding, norms and elementwise ops. Each is one launch. Shapes: decoder/op/elementwise.h.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

template <class T>
void embed(View<const T> table, View<const int> ids, float scale, View<T> y, cudaStream_t);

// Normalises each group of `width` columns; w holds a value for every column, or for every column of a group; no data:
// ones.
template <class T>
void rms_norm(View<const T> x, View<const T> w, int width, float epsilon, View<T> y, cudaStream_t);
// sum = h + delta; y = norm(sum), where the norm reads the sum rounded to T.
template <class T>
struct AddRmsNormView {
  View<const T> h, delta, w;
  float epsilon;
  View<T> sum, y;
};
template <class T>
void add_rms_norm(const AddRmsNormView<T>&, cudaStream_t);
template <class T>
void layer_norm(View<const T> x, View<const T> w, View<const T> bias, float epsilon, View<T> y, cudaStream_t);

template <class T>
void add(View<const T> a, View<const T> b, View<T> y, cudaStream_t);
template <class T>
void silu_mul(View<const T> gate_up, View<T> y, cudaStream_t);
template <class T>
void gelu_mul(View<const T> gate_up, View<T> y, cudaStream_t);
template <class T>
void sigmoid_mul(View<const T> x, View<const T> gate, View<T> y, cudaStream_t);  // gate: of each value or each row
template <class T>
void add_scaled(View<const T> a, View<const T> b, const T* scale, View<T> y, cudaStream_t);
template <class T>
void soft_cap(View<const T> x, float cap, View<T> y, cudaStream_t);
template <class T>
void silu_add(View<const T> a, View<const T> b, View<T> y, cudaStream_t);
template <class T>
void gelu(View<const T> x, View<T> y, cudaStream_t);
template <class T>
void cosine_gate(View<const T> q, View<const T> k, View<const T> v, int head_dim, View<T> y, cudaStream_t);
// The fields of GroupedConv in decoder/op/elementwise.h.
template <class T>
void grouped_conv(View<const T> x, View<const T> delta, View<const T> base, int block, View<T> y, cudaStream_t);

}  // namespace draftline::cuda
