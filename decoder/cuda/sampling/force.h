// SPDX-License-Identifier: Apache-2.0
// Forced acceptance, for measurements: see ForceAccepted in decoder/op.h and force_accepted in decoder/verify.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/sampling/verify.h"

namespace draftline::cuda {

void force_accepted(View<const int> predicted, const TreesView&, View<const int> wanted, int vocabulary, View<int> y,
                    cudaStream_t);

}  // namespace draftline::cuda
