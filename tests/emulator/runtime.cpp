// SPDX-License-Identifier: Apache-2.0
// The runtime's calls. Streams are lazy: work runs when somebody waits for it, so that a host buffer that is overwritten too
// early shows. Device memory is the heap's, filled with NaN: AddressSanitizer sees what lies outside.
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/emulator/emulator.h"
#include "tests/emulator/run_grid.h"

struct EmulatedNode {
  cudaGraphNodeType type;
  std::function<void()> run;
};
struct EmulatedGraph {
  std::vector<EmulatedNode> nodes;
};
struct EmulatedStream {
  std::vector<std::function<void()>> queue;
  std::unique_ptr<EmulatedGraph> captured;
};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point at;
  bool recorded = false;
};

namespace emulator {

namespace {

constexpr std::size_t kMostShared = 99 * 1024, kFreeShared = 48 * 1024;  // sm_86 and sm_89, the tightest we build for

struct Fault {
  std::string name;  // empty: any call
  long left = 0;
  cudaError_t error = cudaSuccess;
  bool lost = false;
};
struct Runtime {
  std::map<const char*, std::size_t> device, pinned;  // by address
  std::set<EmulatedStream*> streams;
  EmulatedStream legacy;
  std::map<const void*, int> shared_allowed;
  std::vector<Fault> faults;
  cudaError_t gone = cudaSuccess, last = cudaSuccess;
  std::size_t memory = std::size_t{4} << 30;
  long awaits = 0;
  int devices = 1, major = 9, minor = 0, driver = 13000;
  Counts counts;
};
// EMULATED_FAULT="1200 719": the 1200th call fails with error 719, and all that follow. EMULATED_DEVICES="0": there are none.
// EMULATED_MEMORY="1000000": so many bytes.
Runtime from_environment() {
  Runtime r;
  if (const char* devices = std::getenv("EMULATED_DEVICES")) r.devices = std::atoi(devices);
  if (const char* memory = std::getenv("EMULATED_MEMORY")) r.memory = std::strtoull(memory, nullptr, 10);
  if (const char* fault = std::getenv("EMULATED_FAULT")) {
    char* rest = nullptr;
    const long nth = std::strtol(fault, &rest, 10);
    r.faults.push_back({"", nth, static_cast<cudaError_t>(std::atoi(rest)), true});
  }
  return r;
}
Runtime& runtime() {
  static Runtime r = from_environment();
  return r;
}

// Counts a call and says whether it is made to fail.
cudaError_t enter(const char* name) {
  Runtime& r = runtime();
  ++r.counts.calls;
  if (r.gone != cudaSuccess) return r.gone;
  for (auto f = r.faults.begin(); f != r.faults.end(); ++f) {
    if (!f->name.empty() && f->name != name) continue;
    if (f->left-- > 0) continue;
    const cudaError_t error = f->error;
    if (f->lost) r.gone = error;
    r.faults.erase(f);
    return error;
  }
  return cudaSuccess;
}
#define ENTER() \
  if (const cudaError_t fault = enter(__func__); fault != cudaSuccess) return fault

bool capturing() {
  for (EmulatedStream* s : runtime().streams)
    if (s->captured) return true;
  return false;
}
// Calls that would wait or allocate spoil a capture that is under way.
#define NOT_WHILE_CAPTURING() \
  if (capturing()) return cudaErrorStreamCaptureUnsupported

EmulatedStream& stream_of(cudaStream_t s) { return s == nullptr ? runtime().legacy : *s; }

void drain(EmulatedStream& s) {
  auto work = std::move(s.queue);
  s.queue.clear();
  for (auto& w : work) w();
}
void drain_all() {
  for (EmulatedStream* s : runtime().streams) drain(*s);
  drain(runtime().legacy);
}

bool inside(const std::map<const char*, std::size_t>& known, const void* p, std::size_t bytes) {
  const char* at = static_cast<const char*>(p);
  auto it = known.upper_bound(at);
  if (it == known.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second;
}

// One side of a copy lies where the kind says it does.
bool sound(const void* to, const void* from, std::size_t to_bytes, std::size_t from_bytes, cudaMemcpyKind kind) {
  const auto& device = runtime().device;
  const bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool out_of = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return inside(device, to, to_bytes) == into && inside(device, from, from_bytes) == out_of;
}

cudaError_t add(cudaStream_t stream, cudaGraphNodeType type, std::function<void()> run) {
  EmulatedStream& s = stream_of(stream);
  if (s.captured) s.captured->nodes.push_back({type, std::move(run)});
  else s.queue.push_back(std::move(run));
  return cudaSuccess;
}

cudaError_t allocate(std::map<const char*, std::size_t>& known, void** p, std::size_t bytes) {
  *p = std::malloc(bytes == 0 ? 1 : bytes);
  if (*p == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*p, 0xff, bytes);
  known[static_cast<const char*>(*p)] = bytes;
  return cudaSuccess;
}

}  // namespace

void reset() {
  Runtime& r = runtime();
  r.faults.clear();
  r.gone = r.last = cudaSuccess;
  r.memory = std::size_t{4} << 30;
  r.devices = 1, r.major = 9, r.minor = 0, r.driver = 13000;
  driver() = {}, link() = {};
  const Counts old = r.counts;
  r.counts = {};
  r.counts.allocated = r.counts.peak_allocated = old.allocated;
  r.counts.pinned = old.pinned;
  r.counts.streams = old.streams, r.counts.events = old.events, r.counts.graphs = old.graphs;
}
void fail_call(long nth, cudaError_t error, bool lost) { runtime().faults.push_back({"", nth, error, lost}); }
void fail_call_of(const char* name, long nth, cudaError_t error, bool lost) {
  runtime().faults.push_back({name, nth, error, lost});
}
void limit_memory(std::size_t bytes) { runtime().memory = bytes; }
void use_device(int devices, int major, int minor, int driver_version) {
  Runtime& r = runtime();
  r.devices = devices, r.major = major, r.minor = minor, r.driver = driver_version;
}
const Counts& counts() { return runtime().counts; }
Driver& driver() {
  static Driver d;
  return d;
}
Link& link() {
  static Link l;
  return l;
}

cudaError_t allow_shared(const void* kernel, int bytes) {
  if (bytes > static_cast<int>(kMostShared)) return cudaErrorInvalidValue;
  runtime().shared_allowed[kernel] = bytes;
  return cudaSuccess;
}

void await_previous() { ++runtime().awaits; }

cudaError_t launch(const cudaLaunchConfig_t& c, const void* kernel, std::function<void()> thread) {
  if (const cudaError_t fault = enter("cudaLaunchKernelEx"); fault != cudaSuccess) return fault;
  const auto threads = c.blockDim.x * c.blockDim.y * c.blockDim.z;
  const auto allowed = runtime().shared_allowed.find(kernel);
  const std::size_t most =
      allowed == runtime().shared_allowed.end() ? kFreeShared : static_cast<std::size_t>(allowed->second);
  if (threads == 0 || threads > 1024 || c.gridDim.x == 0 || c.gridDim.y == 0 || c.gridDim.z == 0 ||
      c.gridDim.x > 0x7fffffffU || c.gridDim.y > 65535 || c.gridDim.z > 65535 || c.dynamicSmemBytes > most)
    return cudaErrorInvalidConfiguration;
  const dim3 grid = c.gridDim, block = c.blockDim;
  const std::size_t shared = c.dynamicSmemBytes;
  const bool overlaps = c.numAttrs > 0 && c.attrs->val.programmaticStreamSerializationAllowed != 0;
  if (overlaps && runtime().major < 9) return cudaErrorInvalidValue;
  return add(c.stream, cudaGraphNodeTypeKernel, [=, thread = std::move(thread)] {
    ++runtime().counts.kernels;
    runtime().awaits = 0;
    run_grid(grid, block, shared, thread);
    if (overlaps && runtime().awaits != static_cast<long>(threads) * grid.x * grid.y * grid.z)
      throw std::logic_error("a kernel that may overlap the one before it has threads that don't wait for that once");
  });
}

cudaError_t enqueue(cudaStream_t stream, cudaGraphNodeType type, std::function<void()> run) {
  return add(stream, type, [type, run = std::move(run)] {
    ++(type == cudaGraphNodeTypeKernel ? runtime().counts.kernels : runtime().counts.copies);
    run();
  });
}

}  // namespace emulator

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
// On the legacy stream, for which streams that don't block don't wait. What comes from the host may still be on its way when
// the call returns.
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
    e->at = std::chrono::steady_clock::now();
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
