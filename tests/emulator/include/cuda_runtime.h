// SPDX-License-Identifier: Apache-2.0
// Stand-in for the CUDA runtime: just what decoder/cuda uses, run on the CPU (tests/emulator/README.md). Values of the
// errors are CUDA's.
#pragma once
#define DRAFTLINE_EMULATOR 1
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorSystemDriverMismatch = 803,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorUnknown = 999
};
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();

struct EmulatedStream;
struct EmulatedEvent;
struct EmulatedGraph;
struct EmulatedNode;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;
using cudaGraphNode_t = EmulatedNode*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaGraphNodeType { cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76
};
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaEventDefault = 0;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor, multiProcessorCount, l2CacheSize, memoryBusWidth;
  std::size_t sharedMemPerBlockOptin;
};
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  union {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaDeviceGetPCIBusId(char*, int, int);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void**, std::size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMallocHost(void**, std::size_t);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMemcpy(void*, const void*, std::size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void*, std::size_t, const void*, std::size_t, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemset(void*, int, std::size_t);
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, std::size_t*);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t);

namespace emulator {

void* dynamic_shared();
void sync_threads();
void await_previous();  // counted: a kernel that may overlap the one before it must call it in every thread
// A warp's threads named by `mask` meet here; the last to come runs `all` on what each brought (null: not in the mask).
void collective(const char* name, unsigned mask, void* mine, void (*all)(void* const* lanes));
int lane();
cudaError_t launch(const cudaLaunchConfig_t&, const void* kernel, std::function<void()> thread);
// Not a kernel of ours, such as a library's: one node, run as a whole.
cudaError_t enqueue(cudaStream_t, cudaGraphNodeType, std::function<void()>);
cudaError_t allow_shared(const void* kernel, int bytes);

template <class T>
struct Exchange {
  T value{};
  unsigned from = 0;
  bool taken = true;
  T result{};
};
template <class T>
T exchange(const char* name, unsigned mask, T value, int from, int width) {
  Exchange<T> mine;
  mine.value = value;
  const int base = lane() / width * width;
  const int source = from >= base && from < base + width ? from : lane();  // outside of the part: one's own
  mine.from = static_cast<unsigned>(source);
  collective(name, mask, &mine, [](void* const* lanes) {
    for (int i = 0; i < 32; ++i) {
      auto* e = static_cast<Exchange<T>*>(lanes[i]);
      if (e == nullptr) continue;
      auto* other = static_cast<Exchange<T>*>(lanes[e->from]);
      if (other != nullptr) e->result = other->value;
      else std::memset(static_cast<void*>(&e->result), 0xff, sizeof(T));  // undefined on a GPU: a NaN here
    }
  });
  return mine.result;
}

}  // namespace emulator

template <class... Expected, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Given&&... args) {
  std::tuple<std::remove_cv_t<Expected>...> held(std::forward<Given>(args)...);
  return emulator::launch(*config, reinterpret_cast<const void*>(kernel), [kernel, held] { std::apply(kernel, held); });
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute, int bytes) {
  return emulator::allow_shared(reinterpret_cast<const void*>(kernel), bytes);
}
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(p), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** p, std::size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(p), bytes);
}

// ---- what kernels call
inline void __syncthreads() { emulator::sync_threads(); }
inline void __threadfence() {}
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  char nothing = 0;
  emulator::collective("__syncwarp", mask, &nothing, [](void* const*) {});
}
template <class T>
T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
  return emulator::exchange("__shfl_sync", mask, v, emulator::lane() / width * width + from % width, width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32) {
  return emulator::exchange("__shfl_xor_sync", mask, v, emulator::lane() ^ with, width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
  return emulator::exchange("__shfl_down_sync", mask, v, emulator::lane() + static_cast<int>(by), width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
  return emulator::exchange("__shfl_up_sync", mask, v, emulator::lane() - static_cast<int>(by), width);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  struct Vote {
    bool yes;
    unsigned all;
  } mine{predicate != 0, 0};
  emulator::collective("__ballot_sync", mask, &mine, [](void* const* lanes) {
    unsigned all = 0;
    for (int i = 0; i < 32; ++i)
      if (lanes[i] != nullptr && static_cast<Vote*>(lanes[i])->yes) all |= 1U << i;
    for (int i = 0; i < 32; ++i)
      if (lanes[i] != nullptr) static_cast<Vote*>(lanes[i])->all = all;
  });
  return mine.all;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }
template <class T>
T atomicAdd(T* at, T v) {
  const T old = *at;
  *at = old + v;
  return old;
}
template <class T>
T atomicMax(T* at, T v) {
  const T old = *at;
  *at = old < v ? v : old;
  return old;
}
[[noreturn]] inline void __trap() { throw std::logic_error("__trap"); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
inline int __float_as_int(float v) {
  int i;
  std::memcpy(&i, &v, sizeof i);
  return i;
}
inline unsigned __float_as_uint(float v) { return static_cast<unsigned>(__float_as_int(v)); }
inline float __int_as_float(int v) {
  float f;
  std::memcpy(&f, &v, sizeof f);
  return f;
}
inline float __uint_as_float(unsigned v) { return __int_as_float(static_cast<int>(v)); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
