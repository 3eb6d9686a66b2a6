// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/runtime/device.h"

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/quantity_text.h"

namespace draftline::cuda {

static std::string version_text(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

void fail(cudaError_t error, const char* what) {
  const char* hint = error == cudaErrorNoKernelImageForDevice
                         ? "; this program was compiled for other GPUs: configure the build with "
                           "-DDRAFTLINE_CUDA_ARCHITECTURES=all, or on this machine"
                         : "";
  if (error == cudaErrorMemoryAllocation) {  // of a graph, a kernel's code or pinned memory; the device works on
    std::ignore = cudaGetLastError();
    throw OutOfDeviceMemory(std::string("out of memory: ") + what);
  }
  throw DeviceError(std::string("the CUDA device failed: ") + what + ": " + cudaGetErrorString(error) + hint);
}

DeviceFacts open_device() {
  DeviceFacts f;
  must(cudaRuntimeGetVersion(&f.runtime), "version of the runtime");
  const cudaError_t driver = cudaDriverGetVersion(&f.driver);
  if (driver != cudaSuccess || f.driver == 0)
    throw DeviceError("no NVIDIA driver on this machine: --device cuda needs one for CUDA " + version_text(f.runtime) +
                      " or newer; --device cpu needs none");
  if (f.driver / 1000 < f.runtime / 1000)
    throw DeviceError("the NVIDIA driver is too old: it knows CUDA up to " + version_text(f.driver) +
                      ", this program was built with " + version_text(f.runtime));
  int devices = 0;
  const cudaError_t count = cudaGetDeviceCount(&devices);
  if (count == cudaErrorInsufficientDriver)
    throw DeviceError("the NVIDIA driver is missing or older than CUDA " + version_text(f.runtime) +
                      ", which this program was built with");
  if (count == cudaErrorNoDevice || (count == cudaSuccess && devices == 0))
    throw DeviceError("no CUDA device on this machine; --device cpu needs none");
  must(count, "looking for devices");
  must(cudaSetDevice(0), "choosing device 0");
  cudaDeviceProp p;
  must(cudaGetDeviceProperties(&p, 0), "properties of device 0");
  f.name = p.name;
  f.major = p.major;
  f.minor = p.minor;
  f.multiprocessors = p.multiProcessorCount;
  f.memory = p.totalGlobalMem;
  f.l2 = at(p.l2CacheSize);
  f.shared = p.sharedMemPerBlockOptin;
  if (f.major < 8)
    throw DeviceError(f.name + " has compute capability " + std::to_string(f.major) + "." + std::to_string(f.minor) +
                      "; bf16 on tensor cores needs 8.0 or newer");
  return f;
}

Buffer::Buffer(std::size_t bytes, const char* what) : Memory(bytes) {
  const cudaError_t error = cudaMalloc(data_.out(), bytes == 0 ? 1 : bytes);
  if (error == cudaErrorMemoryAllocation) {
    *data_.out() = nullptr;
    std::ignore = cudaGetLastError();
    std::size_t free = 0, total = 0;
    std::string have;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess)
      have = ", " + to_text(Bytes{static_cast<double>(free)}) + " of " + to_text(Bytes{static_cast<double>(total)}) +
             " are free";
    throw OutOfDeviceMemory(std::string("out of device memory: ") + what + " needs " +
                            to_text(Bytes{static_cast<double>(bytes)}) + have);
  }
  must(error, what);
}

Pinned::Pinned(std::size_t bytes) : Memory(bytes) {
  must(cudaMallocHost(data_.out(), bytes == 0 ? 1 : bytes), "pinned host memory");
}

Stream::Stream() { must(cudaStreamCreateWithFlags(stream_.out(), cudaStreamNonBlocking), "a stream"); }

Event::Event() { must(cudaEventCreateWithFlags(event_.out(), cudaEventDefault), "an event"); }

double Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  must(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()), "time between events");
  return milliseconds * 1e-3;
}

std::size_t nodes_of(const Graph& graph) {
  std::size_t nodes = 0;
  must(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "nodes of a graph");
  return nodes;
}

Capture::Capture(cudaStream_t stream) : stream_(stream) {
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture of a graph");
}
Capture::~Capture() {
  if (!stream_) return;
  Graph discarded;
  std::ignore = cudaStreamEndCapture(*stream_, discarded.out());
  std::ignore = cudaGetLastError();
}
Graph Capture::end() {
  Graph graph;
  must(cudaStreamEndCapture(*std::exchange(stream_, std::nullopt), graph.out()), "capture of a graph");
  return graph;
}

GraphExec::GraphExec(const Graph& graph) {
  must(cudaGraphInstantiate(exec_.out(), graph.get(), 0), "instantiation of a graph");
}

}  // namespace draftline::cuda
