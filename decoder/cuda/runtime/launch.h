// SPDX-License-Identifier: Apache-2.0
// Launches of kernels, functions that kernels may call, and the conversion of failed calls to DeviceError. Launches are
// typed function calls, never <<<>>>, so that tests/emulator compiles the same sources.
#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <initializer_list>
#include <utility>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

using bf16 = __nv_bfloat16;

// Throws DeviceError with `what` and the runtime's message.
[[noreturn]] void fail(cudaError_t, const char* what);
inline void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(error, what);
}

__host__ __device__ inline float to_float(int v) { return static_cast<float>(v); }
__host__ __device__ inline float to_float(float v) { return v; }
__host__ __device__ inline float to_float(bf16 v) { return __bfloat162float(v); }
template <class T>
__host__ __device__ inline T from_float(float v);
template <>
__host__ __device__ inline float from_float<float>(float v) {
  return v;
}
template <>
__host__ __device__ inline bf16 from_float<bf16>(float v) {
  return __float2bfloat16(v);
}

DRAFTLINE_BOTH constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
inline dim3 grid_of(int x, int y = 1, int z = 1) { return dim3(x, y, z); }

// What follows exists only in sources that nvcc or the emulator compiles.
#if defined(__CUDACC__) || defined(DRAFTLINE_EMULATOR)
// Indices of the thread and of the block, and how many of them there are.
__device__ inline int thread_x() { return threadIdx.x; }
__device__ inline int threads_x() { return blockDim.x; }
__device__ inline int block_x() { return blockIdx.x; }
__device__ inline int block_y() { return blockIdx.y; }
__device__ inline int block_z() { return blockIdx.z; }
__device__ inline int blocks_x() { return gridDim.x; }
__device__ inline int blocks_y() { return gridDim.y; }

// The dynamic shared memory of the block, aligned to 16 bytes.
template <class T>
__device__ inline T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char draftline_dynamic_shared[];
  return reinterpret_cast<T*>(draftline_dynamic_shared);
#else
  return static_cast<T*>(emulator::dynamic_shared());
#endif
}

// Waits until the work launched before has ended, and makes its writes visible. Every thread of a kernel that is
// launched by launch_overlapping calls it first; before it, a kernel may only read memory that no kernel writes. After
// it, blocks of the next overlapping kernel may start on SMs that are free.
__device__ inline void await_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#elif defined(DRAFTLINE_EMULATOR)
  ::emulator::await_previous();
#endif
}

// Whether kernels compiled for these architectures (900 is 9.0) wait in await_previous() on a device of this
// capability. Only code for the device's own generation, Hopper or later, does: what a driver compiles from older PTX
// contains no wait.
constexpr bool waits_on(std::initializer_list<int> compiled, int capability) {
  constexpr int kFirst = 900, kMajor = 100;
  for (const int c : compiled)
    if (c >= kFirst && c <= capability && c / kMajor == capability / kMajor) return true;
  return false;
}

inline bool overlaps() {
#ifdef DRAFTLINE_CUDA_NO_OVERLAP  // for finding out whether an error or a time is due to overlap
  return false;
#else
  int device = 0, major = 0, minor = 0;
  must(cudaGetDevice(&device), "the device");
  must(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "the device's generation");
  must(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "the device's generation");
#ifdef __CUDA_ARCH_LIST__
  return waits_on({__CUDA_ARCH_LIST__}, 100 * major + 10 * minor);
#else
  return waits_on({900}, 100 * major + 10 * minor);  // the emulator
#endif
#endif
}

inline cudaLaunchConfig_t launch_config(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return config;
}
// Launches a kernel. The grid must have at least one block.
template <class... Expected, class... Given>
void launch_with(const cudaLaunchConfig_t& config, void (*kernel)(Expected...), Given&&... args) {
  constexpr std::size_t kFree = 48 * 1024;  // a kernel must be permitted to use more
  if (config.dynamicSmemBytes > kFree)
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(config.dynamicSmemBytes)),
         "shared memory of a kernel");
  must(cudaLaunchKernelEx(&config, kernel, std::forward<Given>(args)...), "launch of a kernel");
}
template <class... Expected, class... Given>
void launch(void (*kernel)(Expected...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
            Given&&... args) {
  launch_with(launch_config(grid, block, shared_bytes, stream), kernel, std::forward<Given>(args)...);
}
// Launches a kernel whose blocks may start before the kernel before it has ended; it must call await_previous().
template <class... Expected, class... Given>
void launch_overlapping(void (*kernel)(Expected...), dim3 grid, dim3 block, std::size_t shared_bytes,
                        cudaStream_t stream, Given&&... args) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = launch_config(grid, block, shared_bytes, stream);
  config.attrs = &attribute;
  config.numAttrs = overlaps() ? 1 : 0;
  launch_with(config, kernel, std::forward<Given>(args)...);
}
#endif

}  // namespace draftline::cuda
