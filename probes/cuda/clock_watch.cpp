// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/clock_watch.h"

#include "core/int_indexed.h"

#include <algorithm>
#include <cstdlib>

namespace draftline {

namespace {

struct Reason {
  std::uint64_t bit;
  const char* name;
};
constexpr Reason kReasons[]{{kPowerCap, "a power cap"},
                            {kHardwareSlowdown, "a hardware slowdown"},
                            {kSoftwareHeat, "a heat limit of the driver"},
                            {kHardwareHeat, "a heat limit of the hardware"},
                            {kPowerBrake, "a power brake"}};

double at_share(std::vector<double> v, double share) {
  const auto nth = v.begin() + to_int64(share * to_double(v.size() - 1));
  std::nth_element(v.begin(), nth, v.end());
  return *nth;
}

}  // namespace

void ClockWatch::note_idle() {
  const auto r = nvml_.missing().empty() ? nvml_.clocks() : std::nullopt;
  if (!r) return;
  ++idle_readings_;
  for (const Reason& reason : kReasons)
    if ((r->reasons & reason.bit) != 0) ++idle_readings_with_[reason.bit];
}

std::uint64_t ClockWatch::standing() const {
  std::uint64_t bits = 0;
  for (const auto& [reason, n] : idle_readings_with_)
    if (2 * n > idle_readings_) bits |= reason;
  return bits;
}

void ClockWatch::start_point() {
  celsius_ = std::max(celsius_, nvml_.celsius().value_or(0));
  watts_ = std::max(watts_, nvml_.watts().value_or(0));
}

bool ClockWatch::throttled() {
  constexpr auto kApart = std::chrono::milliseconds(1);  // the driver samples clocks no more often
  if (!nvml_.missing().empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!sm_.empty() && now - last_ < kApart) return last_throttled_;
  last_ = now;
  const auto r = nvml_.clocks();
  if (!r) return last_throttled_ = false;
  sm_.push_back(r->sm_mhz);
  if (r->memory_mhz > 0) memory_.push_back(r->memory_mhz);
  const std::uint64_t reasons = r->reasons & ~standing();
  for (const Reason& reason : kReasons)
    if ((reasons & reason.bit) != 0) ++throttled_readings_[reason.bit];
  return last_throttled_ = (reasons & kThrottled) != 0;
}

std::map<std::string, double> ClockWatch::facts() const {
  std::map<std::string, double> all;
  if (!sm_.empty()) {
    all["sm_clock_mhz"] = at_share(sm_, 0.5);
    all["sm_clock_mhz_low"] = at_share(sm_, 0);
    all["sm_clock_mhz_high"] = at_share(sm_, 1);
    all["clock_readings"] = count(sm_);
    int most = 0;
    for (const auto& [reason, n] : throttled_readings_) most = std::max(most, n);
    all["clock_readings_throttled"] = most;
  }
  if (!memory_.empty()) all["memory_clock_mhz_met"] = at_share(memory_, 0.5);
  if (celsius_ > 0) all["celsius"] = celsius_;
  if (watts_ > 0) all["watts"] = watts_;
  if (const auto allowed = nvml_.watts_allowed()) all["watts_allowed"] = *allowed;
  // Version "580.65.06" becomes 580.65, as a measured file holds numbers.
  if (const std::string driver = nvml_.driver(); !driver.empty())
    all["driver_release"] = std::strtod(driver.c_str(), nullptr);
  return all;
}

std::vector<std::string> ClockWatch::remarks() const {
  std::vector<std::string> all;
  if (!nvml_.missing().empty()) all.push_back("clocks are watched by a clock reference alone: " + nvml_.missing());
  for (const Reason& reason : kReasons)
    if ((standing() & reason.bit) != 0)
      all.push_back("the driver names " + std::string(reason.name) + " while the device is idle (" +
                    std::to_string(idle_readings_with_.at(reason.bit)) + " of " + std::to_string(idle_readings_) +
                    " readings): no sample was discarded for it");
  for (const Reason& reason : kReasons)
    if (const auto it = throttled_readings_.find(reason.bit); it != throttled_readings_.end())
      all.push_back(std::to_string(it->second) + " of " + std::to_string(sm_.size()) + " readings of the clocks met " +
                    reason.name + ": samples beside them were discarded");
  return all;
}

}  // namespace draftline
