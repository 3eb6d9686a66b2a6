// SPDX-License-Identifier: Apache-2.0
// The runtime's calls. Streams are lazy: work runs when somebody waits for it, so that a host buffer that is
// overwritten too early shows. Device memory is the heap's, filled with NaN: AddressSanitizer sees what lies outside.
#include <cstdlib>
#include <cstring>

#include "tests/emulator/machine.h"

using namespace emulator;

const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorECCUncorrectable: return "uncorrectable ECC error encountered";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "an error";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(runtime().last, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* n) {
  ENTER();
  *n = runtime().devices;
  return *n > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int i) {
  ENTER();
  return i >= 0 && i < runtime().devices ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* i) {
  *i = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  ENTER();
  *p = {};
  std::strcpy(p->name, "emulated on the CPU");
  p->totalGlobalMem = runtime().memory;
  p->major = runtime().major, p->minor = runtime().minor;
  p->multiProcessorCount = 2;
  p->l2CacheSize = 1 << 20;
  p->memoryBusWidth = 64;
  p->sharedMemPerBlockOptin = kMostShared;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr what, int) {
  ENTER();
  switch (what) {
    case cudaDevAttrMultiProcessorCount: *v = 2; break;
    case cudaDevAttrComputeCapabilityMajor: *v = runtime().major; break;
    case cudaDevAttrComputeCapabilityMinor: *v = runtime().minor; break;
    case cudaDevAttrL2CacheSize: *v = 1 << 20; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = static_cast<int>(kMostShared); break;
    case cudaDevAttrGlobalMemoryBusWidth: *v = 64; break;
    default: *v = 1000000; break;  // clocks, in kHz
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  ENTER();
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  ENTER();
  *v = runtime().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  ENTER();
  NOT_WHILE_CAPTURING();
  ++runtime().counts.synchronisations;
  drain_all();
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  ENTER();
  *total = runtime().memory;
  *free = *total - std::min(*total, runtime().counts.allocated);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  ENTER();
  NOT_WHILE_CAPTURING();
  Counts& c = runtime().counts;
  if (c.allocated + bytes > runtime().memory) return cudaErrorMemoryAllocation;
  const cudaError_t e = allocate(runtime().device, p, bytes);
  if (e == cudaSuccess) c.peak_allocated = std::max(c.peak_allocated, c.allocated += bytes);
  return e;
}
cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  drain_all();
  const auto it = runtime().device.find(static_cast<const char*>(p));
  if (it == runtime().device.end()) return cudaErrorInvalidValue;
  runtime().counts.allocated -= it->second;
  runtime().device.erase(it);
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
  ENTER();
  NOT_WHILE_CAPTURING();
  const cudaError_t e = allocate(runtime().pinned, p, bytes);
  if (e == cudaSuccess) runtime().counts.pinned += bytes;
  return e;
}
cudaError_t cudaFreeHost(void* p) {
  if (p == nullptr) return cudaSuccess;
  drain_all();
  const auto it = runtime().pinned.find(static_cast<const char*>(p));
  if (it == runtime().pinned.end()) return cudaErrorInvalidValue;
  runtime().counts.pinned -= it->second;
  runtime().pinned.erase(it);
  std::free(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  ENTER();
  if (width == 0 || height == 0) return cudaSuccess;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  if (!sound(to, from, (height - 1) * to_pitch + width, (height - 1) * from_pitch + width, kind))
    return cudaErrorInvalidValue;
  const auto copy = [=] {
    ++runtime().counts.copies;
    for (std::size_t r = 0; r < height; ++r)
      std::memmove(static_cast<char*>(to) + r * to_pitch, static_cast<const char*>(from) + r * from_pitch, width);
  };
  // What is not pinned is copied before the call returns.
  const void* host = kind == cudaMemcpyHostToDevice ? from : kind == cudaMemcpyDeviceToHost ? to : nullptr;
  if (host != nullptr && !inside(runtime().pinned, host, 1)) {
    if (stream_of(stream).captured) return cudaErrorStreamCaptureUnsupported;
    drain(stream_of(stream));
    copy();
    return cudaSuccess;
  }
  return add(stream, cudaGraphNodeTypeMemcpy, copy);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
// On the legacy stream, for which streams that don't block don't wait. What comes from the host may still be on its way
// when the call returns.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  ENTER();
  NOT_WHILE_CAPTURING();
  if (!sound(to, from, bytes, bytes, kind)) return cudaErrorInvalidValue;
  EmulatedStream& legacy = stream_of(nullptr);
  drain(legacy);
  ++runtime().counts.copies;
  if (kind != cudaMemcpyHostToDevice) {
    std::memmove(to, from, bytes);
    return cudaSuccess;
  }
  const auto* begin = static_cast<const char*>(from);
  legacy.queue.push_back([to, staged = std::vector<char>(begin, begin + bytes)] {
    if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER();
  if (!inside(runtime().device, to, bytes)) return cudaErrorInvalidValue;
  return add(stream, cudaGraphNodeTypeMemset, [=] { std::memset(to, value, bytes); });
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {  // doesn't wait
  NOT_WHILE_CAPTURING();
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  ENTER();
  *s = new EmulatedStream;
  runtime().streams.insert(*s);
  ++runtime().counts.streams;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (s == nullptr) return cudaErrorInvalidValue;
  if (runtime().gone == cudaSuccess) drain(*s);
  runtime().streams.erase(s);
  --runtime().counts.streams;
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  ENTER();
  if (stream_of(s).captured) return cudaErrorStreamCaptureUnsupported;
  ++runtime().counts.synchronisations;
  drain(stream_of(s));
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  ENTER();
  if (s == nullptr || s->captured) return cudaErrorInvalidValue;
  s->captured = std::make_unique<EmulatedGraph>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  if (s == nullptr || !s->captured) return cudaErrorInvalidValue;
  *g = s->captured.release();
  ++runtime().counts.graphs;
  const cudaError_t fault = enter(__func__);
  return fault;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* nodes, std::size_t* n) {
  ENTER();
  if (nodes != nullptr)
    for (std::size_t i = 0; i < *n && i < g->nodes.size(); ++i) nodes[i] = &g->nodes[i];
  *n = g->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  ENTER();
  *type = node->type;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t g, unsigned long long) {
  ENTER();
  *exec = new EmulatedGraph(*g);
  ++runtime().counts.graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
  ENTER();
  EmulatedStream& stream = stream_of(s);
  if (stream.captured) return cudaErrorStreamCaptureUnsupported;
  stream.queue.push_back([nodes = g->nodes] {
    ++runtime().counts.graph_launches;
    for (const EmulatedNode& n : nodes) n.run();
  });
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
  --runtime().counts.graphs;
  delete g;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return cudaGraphExecDestroy(g); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  ENTER();
  *e = new EmulatedEvent;
  ++runtime().counts.events;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  drain_all();
  --runtime().counts.events;
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  ENTER();
  EmulatedStream& stream = stream_of(s);
  if (stream.captured) return cudaErrorStreamCaptureUnsupported;
  e->recorded = false;
  stream.queue.push_back([e] {
    e->at = now_of_events();
    e->recorded = true;
  });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  ENTER();
  NOT_WHILE_CAPTURING();
  drain_all();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  ENTER();
  return e->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t a, cudaEvent_t b) {
  ENTER();
  if (!a->recorded || !b->recorded) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return cudaSuccess;
}
