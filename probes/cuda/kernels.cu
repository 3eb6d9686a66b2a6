// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/kernels.h"

#include <algorithm>

#include "decoder/cuda/runtime/block.cuh"
#include "probes/probe_data.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 512, kBlocksPerSm = 4, kAdditions = 20000;

template <class T>
__global__ void fill_kernel(T* to, std::int64_t n, std::uint64_t from) {
  const auto step = std::int64_t{gridDim.x} * blockDim.x;
  for (auto i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = from_float<T>(noise(from + static_cast<std::uint64_t>(i)));
}

__global__ void read_kernel(const uint4* from, std::int64_t n, unsigned* result) {
  unsigned all = 0;
  const auto step = std::int64_t{gridDim.x} * kThreads;
#pragma unroll 4
  for (auto i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) {
    const uint4 v = from[i];
    all ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  all = block_reduce<kThreads>(all, [](unsigned a, unsigned b) { return a ^ b; });
  if (threadIdx.x == 0) result[blockIdx.x] = all;
}

__global__ void copy_kernel(const uint4* from, std::int64_t n, uint4* to) {
  const auto step = std::int64_t{gridDim.x} * kThreads;
#pragma unroll 4
  for (auto i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) to[i] = from[i];
}

__global__ void reference_kernel(float* result) {
  float sum = static_cast<float>(blockIdx.x);
  for (int i = 0; i < kAdditions; ++i) sum += 1.0F;
  if (sum < 0) *result = sum;
}

__global__ void nothing_kernel() {}

}  // namespace

template <class T>
void fill_noise(T* to, std::int64_t n, std::uint64_t from, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 4096;
  const auto blocks = static_cast<int>(std::clamp<std::int64_t>(n / kThreads, 1, kMostBlocks));
  launch(fill_kernel<T>, grid_of(blocks), grid_of(kThreads), 0, stream, to, n, from);
}
template void fill_noise<float>(float*, std::int64_t, std::uint64_t, cudaStream_t);
template void fill_noise<bf16>(bf16*, std::int64_t, std::uint64_t, cudaStream_t);

int read_blocks(int multiprocessors) { return kBlocksPerSm * multiprocessors; }

void read_memory(const void* from, std::int64_t bytes, int multiprocessors, unsigned* result, cudaStream_t stream) {
  launch(read_kernel, grid_of(read_blocks(multiprocessors)), grid_of(kThreads), 0, stream,
         static_cast<const uint4*>(from), bytes / std::int64_t{sizeof(uint4)}, result);
}

void copy_memory(const void* from, std::int64_t bytes, int multiprocessors, void* to, cudaStream_t stream) {
  launch(copy_kernel, grid_of(read_blocks(multiprocessors)), grid_of(kThreads), 0, stream,
         static_cast<const uint4*>(from), bytes / std::int64_t{sizeof(uint4)}, static_cast<uint4*>(to));
}

void run_clock_reference(int multiprocessors, float* result, cudaStream_t stream) {
  launch(reference_kernel, grid_of(multiprocessors), grid_of(1), 0, stream, result);
}

void run_nothing(cudaStream_t stream) { launch(nothing_kernel, grid_of(1), grid_of(32), 0, stream); }

}  // namespace draftline::cuda
