// SPDX-License-Identifier: Apache-2.0
// The decoder as a small server: requests arrive in virtual time, whose clock moves on by what each step took in fact.
#pragma once
#include <filesystem>
#include <vector>

#include "cli/cpu_decoding.h"

namespace draftline::cli {

struct LiveRequest {
  double arrival = 0;  // s
  int prompt = 1, output = 2;
};
struct LiveServed {
  double first = 0, last = 0;  // s: when its first and last token came
  std::vector<int> steps;      // tokens emitted by each of its steps
};
enum class LiveBatching {
  prefill_first,
  fixed
};  // as the simulator's: prompts in steps of their own, or static batches

// Serves all requests, in order of arrival.
std::vector<LiveServed> serve_live(CpuDecoding&, const std::vector<LiveRequest>&, int max_batch_size, LiveBatching);

// Poisson arrivals at that rate, lengths within a factor of each other.
std::vector<LiveRequest> live_requests(int n, double rate, std::uint64_t seed);

struct ServingFolder {
  std::filesystem::path out, data;  // out: holds device.json and engine.json; arrivals and traces are written there
};
// Live and simulated, static and continuous, without and with a method whose acceptance is live.
std::vector<ComparedServing> compare_serving(const ServingFolder&, const Networks&, Validation&, int requests,
                                             Yardstick&);

}  // namespace draftline::cli
