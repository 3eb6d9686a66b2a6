// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/timer.h"

#include <array>
#include <chrono>

#include "decoder/cuda/runtime/idle.h"

namespace draftline {

namespace {

constexpr int kFirstReadings = 20;  // of the clock reference

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool fits(double bytes, MeasuredPoint& p) {
  constexpr double kShare = 0.8;
  std::size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total), "asking for free memory");
  if (bytes <= kShare * to_double(free)) return true;
  p.skipped = "its data need more memory than the device has free";
  return false;
}

int nodes_of_sample(double seconds_of_one, int copies) {
  constexpr double kLeastSeconds = 1e-3;
  constexpr int kMostNodes = 1024;
  const int rounds = std::max(1, to_int(kLeastSeconds / (seconds_of_one * copies)));
  return std::min(copies * rounds, std::max(copies, kMostNodes));
}

CudaTimer::CudaTimer() : watch(bus_id()) {
  must(cudaGetDeviceCount(&devices), "looking for devices");
  constexpr double kWarming = 0.2;  // seconds in which an idle device's clock rises to that of a busy one
  const double start = now();
  for (int i = 1; i <= kFirstReadings; ++i) {
    do reference();
    while (now() - start < kWarming * i / kFirstReadings);
    watch.note_idle();
  }
  clock_ = {};
  for (int i = 0; i < kFirstReadings; ++i) reference();
}

Buffer CudaTimer::zeros(std::size_t bytes) const {
  Buffer b(bytes);
  must(cudaMemsetAsync(b.data(), 0, bytes, stream), "filling");
  return b;
}

double CudaTimer::reference() {
  constexpr int kAdditions = 8000;  // until the kernel is launched: its time holds none of the host's
  cuda::idle(kAdditions, stream);
  before_.record(stream);
  cuda::run_clock_reference(facts.multiprocessors, reference_result_.data(), stream);
  after_.record(stream);
  after_.wait();
  const double took = after_.seconds_since(before_);
  clock_.note(took);
  return took;
}

void CudaTimer::take_samples(MeasuredPoint& p, Seconds time_budget, const std::function<double()>& sample) {
  constexpr std::size_t kMostSamples = 200;
  constexpr double kMostBudgets = 3;  // that may be spent until there are enough undisturbed samples
  sample();
  watch.start_point();
  for (int i = 0; i < kFirstReadings; ++i) reference();
  const double usual = clock_.usual();
  std::vector<TimedSample> all;
  std::size_t good = 0;
  const double start = now();
  while (all.size() < kLeastSamples ||
         (all.size() < kMostSamples &&
          now() - start < (good < kLeastSamples ? kMostBudgets * time_budget.value : time_budget.value))) {
    const double clock_before = reference(), took = sample();
    const bool throttled = watch.throttled();
    all.push_back({.took = took, .before = clock_before, .after = reference(), .throttled = throttled});
    good += all.back().undisturbed(usual);
  }
  summarise(p, all, usual);
}

// While the host launches so many kernels, or a graph of them: for some 90 us, and 0.4 us a kernel.
void CudaTimer::keep_busy(int kernels) {
  constexpr int kAdditions = 40000, kOfKernel = 200;
  cuda::idle(kAdditions + kOfKernel * kernels, stream);
}

void CudaTimer::time_between_events(MeasuredPoint& p, Seconds time_budget, int n, const std::function<void()>& run) {
  constexpr double kLeast = 1e-9;
  take_samples(p, time_budget, [&] {
    keep_busy(n);
    before_.record(stream);
    run();
    after_.record(stream);
    after_.wait();
    return std::max(after_.seconds_since(before_) / n, kLeast);
  });
}

void CudaTimer::time_kernels(MeasuredPoint& p, Seconds time_budget, int copies, const std::function<void(int)>& issue) {
  issue(0);
  const int trial = std::min(copies, 4);
  keep_busy(trial);
  before_.record(stream);
  for (int i = 0; i < trial; ++i) issue(i);
  after_.record(stream);
  after_.wait();
  const double one = std::max(after_.seconds_since(before_) / trial, 1e-7);
  const int nodes = nodes_of_sample(one, copies);
  const cuda::GraphExec graph = record(stream, [&] {
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
