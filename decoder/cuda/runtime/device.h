// SPDX-License-Identifier: Apache-2.0
// The device and what a program owns on it: memory, pinned host memory, streams, events, captures, graphs. Each has one
// owner, which may be moved and frees it. A call that fails throws DeviceError with the runtime's message; freeing
// never throws.
#pragma once
#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  // the compute capability
  int multiprocessors = 0;
  int driver = 0, runtime = 0;     // CUDA versions as the runtime writes them: 1000 * major + 10 * minor
  std::size_t memory = 0, l2 = 0;  // bytes
  std::size_t shared = 0;          // bytes of shared memory that a block may have
};
// Makes device 0 current. Throws DeviceError if there is none, or if its driver or the device is older than this
// program needs.
DeviceFacts open_device();

// Owns a handle of the CUDA runtime, which `release` frees. An error of `release` is ignored, as a destructor can't
// report it.
template <class Raw, auto release>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& o) noexcept : raw_(std::exchange(o.raw_, nullptr)) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(raw_, o.raw_);
    return *this;
  }
  ~Handle() {
    if (raw_ != nullptr) std::ignore = release(raw_);
  }
  explicit operator bool() const { return raw_ != nullptr; }
  Raw get() const { return raw_; }
  Raw* out() { return &raw_; }  // where a call of the runtime writes a new handle; this one must be empty

 private:
  Raw raw_ = nullptr;
};

// `bytes` bytes of memory that `release` frees. They are not initialised.
template <auto release>
class Memory {
 public:
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  std::size_t bytes() const { return data_ ? bytes_ : 0; }

 protected:
  Memory() = default;
  explicit Memory(std::size_t bytes) : bytes_(bytes) {}
  Handle<void*, release> data_;

 private:
  std::size_t bytes_ = 0;
};

// Device memory. Throws OutOfDeviceMemory, which says what the memory was for, if there is too little.
class Buffer : public Memory<cudaFree> {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, const char* what = "device memory");
};

// Page-locked host memory, which the device reads and writes while the host goes on.
class Pinned : public Memory<cudaFreeHost> {
 public:
  Pinned() = default;
  explicit Pinned(std::size_t bytes);
};

// A stream that does not wait for the default stream.
class Stream {
 public:
  Stream();
  operator cudaStream_t() const { return stream_.get(); }
  void wait() const { must(cudaStreamSynchronize(stream_.get()), "waiting for the device"); }

 private:
  Handle<cudaStream_t, cudaStreamDestroy> stream_;
};

class Event {
 public:
  Event();
  void record(cudaStream_t s) const { must(cudaEventRecord(event_.get(), s), "an event"); }
  void wait() const { must(cudaEventSynchronize(event_.get()), "waiting for the device"); }
  double seconds_since(const Event& earlier) const;  // both must have been waited for

 private:
  Handle<cudaEvent_t, cudaEventDestroy> event_;
};

using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;
std::size_t nodes_of(const Graph&);

// Captures what is launched on a stream from now until end(). A capture that is not ended, because something threw, is
// closed and discarded: left open it would make every later call on the stream fail.
class Capture {
 public:
  explicit Capture(cudaStream_t);
  Capture(Capture&& o) noexcept : stream_(std::exchange(o.stream_, std::nullopt)) {}
  ~Capture();
  Graph end();

 private:
  std::optional<cudaStream_t> stream_;
};

// A graph that can be launched; a default one is empty.
class GraphExec {
 public:
  GraphExec() = default;
  explicit GraphExec(const Graph&);
  explicit operator bool() const { return exec_.get() != nullptr; }
  void run(cudaStream_t stream) const { must(cudaGraphLaunch(exec_.get(), stream), "launch of a graph"); }

 private:
  Handle<cudaGraphExec_t, cudaGraphExecDestroy> exec_;
};

}  // namespace draftline::cuda
