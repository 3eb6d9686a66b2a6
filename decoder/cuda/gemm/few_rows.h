// SPDX-License-Identifier: Apache-2.0
// A kernel for products of a few rows in bf16, which are bound by reading the weights: y [rows, out] = x [rows, in] * w
// [in, out] (+ bias), summed in fp32 in a fixed order. blas.cpp uses it where it is faster than cuBLASLt.
#pragma once
#include <cuda_runtime_api.h>

#include <vector>

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

struct FewRowsShape {
  int rows, in, out;
};

// The numbers of splits that are worth trying on a device with so many SMs. Empty: the kernel does not support the
// shape.
std::vector<int> few_rows_splits(const FewRowsShape&, int sms);
// Bytes of scratch for the parts. Besides them the kernel needs kCounters counters, which are zero before the first
// use.
std::size_t few_rows_parts(const FewRowsShape&, int splits);

struct FewRowsView {
  View<const bf16> x;
  const bf16 *w, *bias;  // aligned to 16 bytes; may be null
  int splits;
  unsigned* counters;
  float* parts;
  View<bf16> y;
};
// A Bug if the shape is not supported.
void few_rows(const FewRowsView&, cudaStream_t);

// Reads so many bytes, so that they evict what L2 held before.
void read_through(const void* data, std::size_t bytes, unsigned* sink, int sms, cudaStream_t);

}  // namespace draftline::cuda
