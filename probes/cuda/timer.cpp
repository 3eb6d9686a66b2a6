// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/timer.h"

#include <array>
#include <chrono>

#include "decoder/cuda/runtime/idle.h"

namespace draftline {

namespace {

constexpr int kFirstReadings = 20;  // of the reference

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string bus_id() {
  std::array<char, 32> text{};
  must(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), 0), "the device's place on the bus");
  return text.data();
}

}  // namespace

Capture::Capture(const cuda::Stream& stream) : stream_(stream) {
  must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
}
Capture::~Capture() {
  if (stream_ == nullptr) return;
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream_, &graph));
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
}
Recording Capture::end() {
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph), "capture");
  return Recording(graph);
}

Recording::Recording(cudaGraph_t graph) {
  const cudaError_t made = cudaGraphInstantiate(&exec_, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  must(made, "making a graph");
}
Recording::Recording(const cuda::Stream& stream, const std::function<void()>& issue)
    : Recording([&] {
        Capture capture(stream);
        issue();
        return capture.end();
      }()) {}
Recording::~Recording() {
  if (exec_ != nullptr) static_cast<void>(cudaGraphExecDestroy(exec_));
}

bool fits(double bytes, MeasuredPoint& p) {
  constexpr double kShare = 0.8;
  std::size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total), "asking for free memory");
  if (bytes <= kShare * static_cast<double>(free)) return true;
  p.skipped = "its data need more memory than the device has free";
  return false;
}

CudaTimer::CudaTimer() : watch(bus_id()) {
  must(cudaGetDeviceCount(&devices), "looking for devices");
  constexpr double kWarming = 0.2;  // an idle device's clock is a fraction of a busy one's, and takes its time to rise
  const double start = now();
  do reference();
  while (now() - start < kWarming);
  clock_ = {};
  for (int i = 0; i < kFirstReadings; ++i) reference();
}

Buffer CudaTimer::zeros(std::size_t bytes) const {
  Buffer b(bytes);
  must(cudaMemsetAsync(b.data(), 0, bytes, stream), "filling");
  return b;
}

double CudaTimer::reference() {
  before_.record(stream);
  cuda::run_clock_reference(facts.multiprocessors, reference_result_.data(), stream);
  after_.record(stream);
  after_.wait();
  const double took = after_.seconds_since(before_);
  clock_.note(took);
  return took;
}

void CudaTimer::take_samples(MeasuredPoint& p, Seconds time_budget, const std::function<double()>& take) {
  constexpr std::size_t kMostSamples = 200;
  constexpr double kMostTimeBudget = 3;
  take();
  watch.start_point();
  for (int i = 0; i < kFirstReadings; ++i) reference();
  const double usual = clock_.usual();
  std::vector<TimedSample> all;
  std::size_t good = 0;
  const double start = now();
  while (all.size() < kLeastSamples ||
         (all.size() < kMostSamples &&
          now() - start < (good < kLeastSamples ? kMostTimeBudget * time_budget.value : time_budget.value))) {
    const double clock_before = reference(), took = take();
    const bool throttled = watch.throttled();
    all.push_back({took, clock_before, reference(), throttled});
    good += all.back().met(usual);
  }
  summarise(p, all, usual);
}

void CudaTimer::time_between_events(MeasuredPoint& p, Seconds time_budget, int n, const std::function<void()>& run) {
  constexpr double kLeast = 1e-9;
  constexpr int kAdditions = 40000;  // some 90 us: what the host needs to launch a graph isn't the device's time
  take_samples(p, time_budget, [&] {
    cuda::idle(kAdditions, stream);
    before_.record(stream);
    run();
    after_.record(stream);
    after_.wait();
    return std::max(after_.seconds_since(before_) / n, kLeast);
  });
}

void CudaTimer::time_kernels(MeasuredPoint& p, Seconds time_budget, int copies, const std::function<void(int)>& issue) {
  constexpr double kLeastSeconds = 200e-6;
  constexpr int kMostNodes = 1024;
  issue(0);
  before_.record(stream);
  const int trial = std::min(copies, 4);
  for (int i = 0; i < trial; ++i) issue(i);
  after_.record(stream);
  after_.wait();
  const double one = std::max(after_.seconds_since(before_) / trial, 1e-7);
  const int rounds = std::max(1, static_cast<int>(kLeastSeconds / (one * copies)));
  const int nodes = std::min(copies * rounds, std::max(copies, kMostNodes));
  const Recording graph(stream, [&] {
    for (int i = 0; i < nodes; ++i) issue(i % copies);
  });
  time_between_events(p, time_budget, nodes, [&] { graph.run(stream); });
}

void CudaTimer::time_host(MeasuredPoint& p, Seconds time_budget, const std::function<void()>& run) {
  constexpr double kLeast = 1e-9;
  take_samples(p, time_budget, [&] {
    stream.wait();
    const double start = now();
    run();
    const double took = now() - start;
    stream.wait();
    return std::max(took, kLeast);
  });
}

}  // namespace draftline
