// SPDX-License-Identifier: Apache-2.0
// What the host pays for launches, graphs, waits and transfers, by its own clock; and what a graph saves the device.
#include <cstring>

#include "probes/cuda/ops.h"

namespace draftline {

void probe_launches(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int n = p.at("kernels");
  constexpr int kMostKernels = 1000;  // a stream holds more of them before the host must wait
  if (n > kMostKernels) {
    p.skipped = "more launches than a stream takes without waiting";
    return;
  }
  const auto launches = [&] {
    for (int i = 0; i < n; ++i) cuda::run_nothing(t.stream);
  };
  if (p.op == "launch") {
    t.time_host(p, time_budget, launches);
    p.low = p.low * (1.0 / n), p.median = p.median * (1.0 / n), p.high = p.high * (1.0 / n);
  } else if (p.op == "graph") {
    const cuda::GraphExec graph = record(t.stream, launches);
    t.time_host(p, time_budget, [&] {
      graph.run(t.stream);
      t.stream.wait();
    });
  } else {
    t.time_host(p, time_budget, [&] {
      launches();
      t.stream.wait();
    });
  }
}

void probe_transfer(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const auto bytes = at(p.at("bytes"));
  const bool up = p.op == "upload";
  const Buffer device = t.zeros(bytes);
  const Pinned host(bytes);
  std::memset(host.data(), up ? 0x5a : 0, bytes);
  const auto run = [&] {
    if (up) must(cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, t.stream), "uploading");
    else must(cudaMemcpyAsync(host.data(), device.data(), bytes, cudaMemcpyDeviceToHost, t.stream), "reading back");
    t.stream.wait();
  };
  run();
  std::vector<char> there(bytes);
  must(cudaMemcpy(there.data(), device.data(), bytes, cudaMemcpyDeviceToHost), "reading back");
  if (std::memcmp(there.data(), host.data(), bytes) != 0) {
    p.skipped = kDiffers;
    return;
  }
  t.time_host(p, time_budget, run);
}

// Kernels of some tens of microseconds. Even when they are launched one by one, the host is ahead, so that gaps between
// them are the device's own.
void probe_credit(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int n = p.at("kernels");
  const Matrix<float> result(1, 1);
  const auto launches = [&] {
    for (int i = 0; i < n; ++i) cuda::run_clock_reference(t.facts.multiprocessors, result.data(), t.stream);
  };
  if (p.op == "kernel_launched") {
    t.time_between_events(p, time_budget, n, launches);
  } else {
    const cuda::GraphExec graph = record(t.stream, launches);
    t.time_between_events(p, time_budget, n, [&] { graph.run(t.stream); });
  }
}

}  // namespace draftline
