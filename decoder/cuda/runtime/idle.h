// SPDX-License-Identifier: Apache-2.0
// Nothing, for a while: the host launches what comes next meanwhile, so that its launches don't stand between ops.
#pragma once
#include <cuda_runtime_api.h>

namespace draftline::cuda {

// One thread adds so often; each addition waits for the one before (some 4 clocks).
void idle(int additions, cudaStream_t);

}  // namespace draftline::cuda
