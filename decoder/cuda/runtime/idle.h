// SPDX-License-Identifier: Apache-2.0
// Keeps the device busy with a single thread, while the host launches the work that follows.
#pragma once
#include <cuda_runtime_api.h>

namespace draftline::cuda {

// One thread makes so many additions, each of which waits for the one before (some 4 clock cycles).
void idle(int additions, cudaStream_t);

}  // namespace draftline::cuda
