// SPDX-License-Identifier: Apache-2.0
// The frame in which every op is timed on the device: as nodes of a graph between two events, on copies of its data in turn, so
// that nothing is found in L2; beside each sample a clock reference and the driver's clocks. The host's part by the host's clock.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/runtime/device.h"
#include "probes/cuda/clock_watch.h"
#include "probes/cuda/kernels.h"
#include "probes/cuda/matrix.h"
#include "probes/samples.h"

namespace draftline {

// A graph of launches.
class Recording {
 public:
  explicit Recording(cudaGraph_t);
  Recording(const cuda::Stream&, const std::function<void()>& issue);
  Recording(Recording&& o) noexcept : exec_(std::exchange(o.exec_, nullptr)) {}
  ~Recording();
  void run(const cuda::Stream& stream) const { must(cudaGraphLaunch(exec_, stream), "launching a graph"); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

// What is launched on the stream until end() becomes a graph. One that is never ended is closed: left open, it would spoil all
// that follows.
class Capture {
 public:
  explicit Capture(const cuda::Stream&);
  Capture(Capture&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  ~Capture();
  Recording end();

 private:
  cudaStream_t stream_;
};

// Tells whether the device still has room; a point that doesn't fit says so.
bool fits(double bytes, MeasuredPoint&);

struct CudaTimer {
  CudaTimer();
  cuda::DeviceFacts facts = cuda::open_device();
  int devices = 1;  // that the runtime sees; all probes but those of the link use the first
  cuda::Stream stream;
  cuda::Blas blas{stream};
  ClockWatch watch;

  template <class T>
  void fill(const Matrix<T>& m, std::uint64_t from) {
    cuda::fill_noise(m.data(), static_cast<std::int64_t>(product(m.rows, m.cols)), from, stream);
  }
  Buffer zeros(std::size_t bytes) const;

  // `take`: seconds of one sample.
  void take_samples(MeasuredPoint&, Seconds time_budget, const std::function<double()>& take);
  // Device time of one `issue(i)`, i in turn through `copies`, as nodes of a graph: so the decoder runs them.
  void time_kernels(MeasuredPoint&, Seconds time_budget, int copies, const std::function<void(int)>& issue);
  // Device time of one of `n` in a sample: between events around `run`.
  void time_between_events(MeasuredPoint&, Seconds time_budget, int n, const std::function<void()>& run);
  // Of an idle device, by the host's clock.
  void time_host(MeasuredPoint&, Seconds time_budget, const std::function<void()>& run);

 private:
  double reference();
  cuda::Event before_, after_;
  Matrix<float> reference_result_{1, 1};
  UsualClock clock_;
};

}  // namespace draftline
