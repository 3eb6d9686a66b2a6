// SPDX-License-Identifier: Apache-2.0
// A GPU's clocks, the reasons for which they are throttled, temperature and power, as the driver reports them (NVIDIA
// Management Library, libnvidia-ml.so.1). If the library is missing or refuses, values are unknown and nothing fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "decoder/cuda/runtime/library.h"

namespace draftline {

// Bits of nvmlClocksEventReasons (NVML API reference) that slow what is being timed.
inline constexpr std::uint64_t kPowerCap = 0x4, kHardwareSlowdown = 0x8, kSoftwareHeat = 0x20, kHardwareHeat = 0x40,
                               kPowerBrake = 0x80;
inline constexpr std::uint64_t kThrottled = kPowerCap | kHardwareSlowdown | kSoftwareHeat | kHardwareHeat | kPowerBrake;

struct ClockReading {
  double sm_mhz = 0, memory_mhz = 0;
  std::uint64_t reasons = 0;
};

std::string bus_id();  // of the first device; a DeviceError if the runtime has none

class Nvml {
 public:
  explicit Nvml(const std::string& bus_id);  // the GPU's, as cudaDeviceGetPCIBusId writes it
  ~Nvml();
  Nvml(const Nvml&) = delete;
  const std::string& missing() const { return missing_; }  // why nothing is known; empty if NVML works
  std::optional<ClockReading> clocks() const;
  std::optional<double> celsius() const, watts() const, watts_allowed() const;
  std::string driver() const;  // "580.65.06"; empty if unknown

 private:
  struct Device;
  cuda::Library library_;
  Device* device_ = nullptr;
  std::string missing_;
  int (*shutdown_)() = nullptr;
  int (*clock_)(Device*, int, unsigned*) = nullptr;
  int (*reasons_)(Device*, unsigned long long*) = nullptr;
  int (*temperature_)(Device*, int, unsigned*) = nullptr;
  int (*power_)(Device*, unsigned*) = nullptr;
  int (*power_limit_)(Device*, unsigned*) = nullptr;
  int (*driver_)(char*, unsigned) = nullptr;
};

}  // namespace draftline
