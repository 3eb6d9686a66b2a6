// SPDX-License-Identifier: Apache-2.0
// Watches a GPU's clocks during the samples of a probe: it tells throttled samples, and the clocks, temperature and
// power that a measured file records. Without NVML nothing is known, and only the clock reference judges samples.
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

  void start_point();  // reads temperature and power, which takes longer than reading clocks
  // Reads the clocks, at most once per millisecond, and returns whether they are throttled.
  bool throttled();

  // "sm_clock_mhz" (the median), its "_low" and "_high", "memory_clock_mhz", "celsius", "watts" (the maximum), ...
  std::map<std::string, double> facts() const;
  // Sentences for the user: that there is no NVML, or how many readings were throttled and why.
  std::vector<std::string> remarks() const;

 private:
  Nvml nvml_;
  std::chrono::steady_clock::time_point last_{};
  bool last_throttled_ = false;
  std::vector<double> sm_, memory_;
  std::map<std::uint64_t, int> throttled_readings_;  // by reason
  double celsius_ = 0, watts_ = 0;
};

}  // namespace draftline
