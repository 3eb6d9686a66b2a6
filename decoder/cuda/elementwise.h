// SPDX-License-Identifier: Apache-2.0
// Embedding, norms and what works on single values. Shapes: decoder/op.h.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/view.h"

namespace draftline::cuda {

template <class T>
void add(View<const T> a, View<const T> b, View<T> y, cudaStream_t);

}  // namespace draftline::cuda
