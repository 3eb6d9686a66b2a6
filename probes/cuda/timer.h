// SPDX-License-Identifier: Apache-2.0
// Times ops on the device: as nodes of a graph between two events, on copies of their data in turn, so that nothing is
// found in L2. Each sample comes with readings of a clock reference and of the driver's clocks. Host work is timed by
// the host's clock.
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

// A graph of the launches that `issue` makes.
inline cuda::GraphExec record(const cuda::Stream& stream, const std::function<void()>& issue) {
  cuda::Capture capture(stream);
  issue();
  return cuda::GraphExec(capture.end());
}

// Whether the device has room for that many bytes; if not, the point has this reason in `skipped`.
bool fits(double bytes, MeasuredPoint&);

// Nodes of a graph that is timed as one sample: rounds through the copies that take a millisecond. What the device
// takes to start a graph, some 2-6 us, lies between the events too.
int nodes_of_sample(double seconds_of_one, int copies);

struct CudaTimer {
  CudaTimer();
  cuda::DeviceFacts facts = cuda::open_device();
  int devices = 1;  // GPUs that the runtime sees; all probes but those of the interconnect use the first
  cuda::Stream stream;
  cuda::Blas blas{stream};
  ClockWatch watch;

  template <class T>
  void fill(const Matrix<T>& m, std::uint64_t from) {
    cuda::fill_noise(m.data(), to_int64(product(m.rows, m.cols)), from, stream);
  }
  Buffer zeros(std::size_t bytes) const;

  // Takes samples until the time budget is spent; `sample` takes one and returns its seconds.
  void take_samples(MeasuredPoint&, Seconds time_budget, const std::function<double()>& sample);
  // Times `issue(i)` on the device as nodes of a graph, as the decoder runs it; i goes round through `copies` of the
  // data.
  void time_kernels(MeasuredPoint&, Seconds time_budget, int copies, const std::function<void(int)>& issue);
  // Times `run` on the device by events around it; the point gets the time of one of its `n` parts.
  void time_between_events(MeasuredPoint&, Seconds time_budget, int n, const std::function<void()>& run);
  // Times `run` by the host's clock while the device is idle.
  void time_host(MeasuredPoint&, Seconds time_budget, const std::function<void()>& run);

 private:
  double reference();
  void keep_busy(int kernels);
  cuda::Event before_, after_;
  Matrix<float> reference_result_{1, 1};
  UsualClock clock_;
};

}  // namespace draftline
