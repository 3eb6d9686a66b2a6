// SPDX-License-Identifier: Apache-2.0
// What a test may ask of the emulator: another order of threads, another device, a failing call.
#pragma once
#include <cuda_runtime.h>

namespace emulator {

void reset();                      // as at the start, but for memory that is still allocated
void shuffle(std::uint64_t seed);  // of the order in which threads run
// The n-th call from now on (0: the next) that can fail fails so. `lost`: and every one after it, as when a GPU is
// gone.
void fail_call(long nth, cudaError_t, bool lost = false);
// As fail_call, but of calls of that name alone ("cudaMalloc").
void fail_call_of(const char* name, long nth, cudaError_t, bool lost = false);
void limit_memory(std::size_t bytes);
void hide_libraries(bool hidden);  // cuBLASLt can't be opened
void use_device(int devices, int major, int minor, int driver_version);

// What NVML's stand-in says; it is there unless hidden. reasons: bits of its clocks' event reasons.
struct Driver {
  bool hidden = false, refuses = false;
  unsigned sm_mhz = 1980, memory_mhz = 2619, celsius = 41, milliwatts = 312000;
  unsigned long long reasons = 0;
  int throttled_every = 0;  // n: every n-th reading of the reasons has a power cap
  long readings = 0;
};
Driver& driver();
// NCCL's stand-in. fails: initialising it does.
struct Link {
  bool hidden = false, fails = false, wrong = false;  // wrong: sums are off
};
Link& link();

// What events read: the host's clock or, while `kernel` isn't 0, so many seconds for each kernel that has run, off by
// up to `jitter` either way.
struct EventClock {
  double kernel = 0, jitter = 0;
  std::uint64_t dice = 1;
};
EventClock& event_clock();

struct Counts {
  long calls = 0, kernels = 0, copies = 0, graph_launches = 0, synchronisations = 0;
  std::size_t allocated = 0, peak_allocated = 0, pinned = 0;
  int streams = 0, events = 0, graphs = 0;  // alive
};
const Counts& counts();

}  // namespace emulator
