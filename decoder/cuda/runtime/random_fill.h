// SPDX-License-Identifier: Apache-2.0
// Generates random weights on the device: the numbers of decoder/random_weights, except for the last bit of log and
// cos.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "decoder/weights.h"

namespace draftline::cuda {

template <class T>
void fill_normal(std::span<const NormalTerm>, T* to, std::int64_t n, cudaStream_t);  // at most two terms, else a Bug

}  // namespace draftline::cuda
