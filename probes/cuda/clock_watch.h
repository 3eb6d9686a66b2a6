// SPDX-License-Identifier: Apache-2.0
// Watches a GPU's clocks during the samples of a probe: it finds throttled samples, and the clocks, temperature and
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

  // Reads the reasons while the device has nearly nothing to do. What most of these readings name always stands there,
  // such as a node's power brake: it is reported, and makes no reading throttled.
  void note_idle();
  void start_point();  // reads temperature and power, which takes longer than reading clocks
  // Reads the clocks, at most once per millisecond, and returns whether they are throttled.
  bool throttled();

  // "sm_clock_mhz" (the median), its "_low" and "_high", "memory_clock_mhz", "celsius", "watts" (the maximum), ...
  std::map<std::string, double> facts() const;
  // Sentences for the user: that there is no NVML, or how many readings were throttled and why.
  std::vector<std::string> remarks() const;

 private:
  std::uint64_t standing() const;
  Nvml nvml_;
  std::chrono::steady_clock::time_point last_{};
  bool last_throttled_ = false;
  std::vector<double> sm_, memory_;
  std::map<std::uint64_t, int> throttled_readings_, idle_readings_with_;  // by reason
  int idle_readings_ = 0;
  double celsius_ = 0, watts_ = 0;
};

}  // namespace draftline
