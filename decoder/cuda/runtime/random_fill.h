// SPDX-License-Identifier: Apache-2.0
// Random weights, made where they will lie: the very numbers of decoder/random_weights, but for the last bit of log and cos.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "decoder/weights.h"

namespace draftline::cuda {

template <class T>
void fill_normal(std::span<const NormalTerm>, T* to, std::int64_t n, cudaStream_t);  // two terms at most

}  // namespace draftline::cuda
