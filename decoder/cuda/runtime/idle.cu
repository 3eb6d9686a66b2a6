// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/runtime/idle.h"

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

namespace {

__global__ void idle_kernel(int additions, float* never) {
  float sum = 0;
  for (int i = 0; i < additions; ++i) sum += 1.0F;  // floats: the loop can't be folded
  if (sum < 0) *never = sum;
}

}  // namespace

void idle(int additions, cudaStream_t stream) {
  launch(idle_kernel, grid_of(1), grid_of(1), 0, stream, additions, nullptr);
}

}  // namespace draftline::cuda
