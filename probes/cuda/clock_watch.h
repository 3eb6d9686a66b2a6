// SPDX-License-Identifier: Apache-2.0
// Watches a GPU's clocks beside the samples of a probe: which samples met a throttled clock, and what a measured file says of
// the clocks, temperature and power that its times were taken at. Without NVML it knows nothing; the clock reference goes on alone.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probes/cuda/nvml.h"

namespace draftline {

class ClockWatch {
 public:
  explicit ClockWatch(const std::string& bus_id) : nvml_(bus_id) {}

  void start_point();  // reads temperature and power, which take longer
  // Reads the clocks, at most once a millisecond; true: they are held back.
  bool throttled();

  // "sm_clock_mhz" (the median), its "_low" and "_high", "memory_clock_mhz", "celsius", "watts" (the most), ...
  std::map<std::string, double> facts() const;
  // What is to be said aloud: that there is no NVML, or how many readings met what. Empty: nothing.
  std::vector<std::string> remarks() const;

 private:
  Nvml nvml_;
  std::chrono::steady_clock::time_point last_{};
  bool last_throttled_ = false;
  std::vector<double> sm_, memory_;
  std::map<std::uint64_t, int> met_;  // readings, by reason
  double celsius_ = 0, watts_ = 0;
};

}  // namespace draftline
