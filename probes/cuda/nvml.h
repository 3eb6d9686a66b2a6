// SPDX-License-Identifier: Apache-2.0
// What the driver says of a GPU while it works: clocks, why they are held back, temperature and power (NVIDIA Management
// Library, libnvidia-ml.so.1). Where it is missing or refuses, nothing is known and nothing fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "decoder/cuda/runtime/library.h"

namespace draftline {

// Bits of nvmlClocksEventReasons (the NVML API reference): those that slow what is being timed.
inline constexpr std::uint64_t kPowerCap = 0x4, kHardwareSlowdown = 0x8, kSoftwareHeat = 0x20, kHardwareHeat = 0x40,
                               kPowerBrake = 0x80;
inline constexpr std::uint64_t kThrottled = kPowerCap | kHardwareSlowdown | kSoftwareHeat | kHardwareHeat | kPowerBrake;

struct ClockReading {
  double sm_mhz = 0, memory_mhz = 0;
  std::uint64_t reasons = 0;
};

class Nvml {
 public:
  explicit Nvml(const std::string& bus_id);  // of the GPU, as cudaDeviceGetPCIBusId writes it
  ~Nvml();
  Nvml(const Nvml&) = delete;
  const std::string& missing() const { return missing_; }  // why nothing is known; empty: all is well
  std::optional<ClockReading> clocks() const;
  std::optional<double> celsius() const, watts() const, watts_allowed() const;
  std::string driver() const;  // "580.65.06"; empty: unknown

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
