// SPDX-License-Identifier: Apache-2.0
// The device and what is owned on it: memory, pinned memory, streams, events. A call that fails throws DeviceError with the
// runtime's message; what is released never throws.
#pragma once
#include <cuda_runtime.h>

#include <string>
#include <utility>

#include "decoder/cuda/runtime/launch.h"

namespace draftline::cuda {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0, multiprocessors = 0, driver = 0, runtime = 0;
  std::size_t memory = 0, l2 = 0;
};
// Chooses device 0. Throws DeviceError if there is none, or its driver or the device itself is older than this program needs.
DeviceFacts open_device();

// Device memory. It isn't filled with anything.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, const char* what = "device memory");
  Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Buffer();
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Host memory that the device copies from and to while the host goes on.
class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(std::size_t bytes);
  Pinned(Pinned&& o) noexcept : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Pinned& operator=(Pinned&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Pinned();
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  ~Stream();
  operator cudaStream_t() const { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_), "waiting for the device"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  Event(Event&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Event& operator=(Event&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  ~Event();
  void record(cudaStream_t s) const { must(cudaEventRecord(event_, s), "an event"); }
  void wait() const { must(cudaEventSynchronize(event_), "waiting for the device"); }
  double seconds_since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace draftline::cuda
