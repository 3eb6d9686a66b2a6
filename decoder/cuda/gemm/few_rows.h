// SPDX-License-Identifier: Apache-2.0
// Products of a few rows in bf16, bound by reading the weights once: y [rows, out] = x [rows, in] * w [in, out] (+ bias),
// summed in fp32 in a fixed order. A candidate beside cuBLASLt's algorithms (blas.cpp), chosen where it is the fastest.
#pragma once
#include <cuda_runtime_api.h>

#include <vector>

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

struct FewRowsShape {
  int rows, in, out;
};

// Parts that the sum may be cut into, for a device of so many multiprocessors; none: it doesn't serve that shape.
std::vector<int> few_rows_splits(const FewRowsShape&, int sms);
// Bytes of fp32 parts; counters beside them: kCounters, zero before the first use.
std::size_t few_rows_parts(const FewRowsShape&, int splits);

// w: 16-byte aligned; bias: null if there is none.
void few_rows(View<const bf16> x, const bf16* w, const bf16* bias, int splits, unsigned* counters, float* parts,
              View<bf16> y, cudaStream_t);

// Reads so many bytes, so that what L2 held before is gone.
void read_through(const void* data, std::size_t bytes, unsigned* sink, int sms, cudaStream_t);

}  // namespace draftline::cuda
