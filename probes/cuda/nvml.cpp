// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/nvml.h"

#include <array>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/device.h"

namespace draftline {

namespace {

constexpr int kSuccess = 0, kSmClock = 1, kMemoryClock = 2, kGpuSensor = 0;
constexpr double kMilli = 1e-3;

template <class Call, class... Arguments>
std::optional<double> asked(Call call, Arguments... arguments) {
  unsigned value = 0;
  if (call == nullptr || call(arguments..., &value) != kSuccess) return {};
  return value;
}

}  // namespace

std::string bus_id() {
  std::array<char, 32> text{};
  cuda::must(cudaDeviceGetPCIBusId(text.data(), count(text), 0), "the device's address on the bus");
  return text.data();
}

Nvml::Nvml(const std::string& bus_id) : library_({"libnvidia-ml.so.1", "libnvidia-ml.so"}) {
  if (!library_.here()) {
    missing_ = "libnvidia-ml.so.1 can't be opened";
    return;
  }
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Device**) = nullptr;
  if (!library_.find("nvmlInit_v2", init) || !library_.find("nvmlDeviceGetHandleByPciBusId_v2", by_bus) ||
      !library_.find("nvmlDeviceGetClockInfo", clock_)) {
    missing_ = "libnvidia-ml.so.1 lacks functions of its version 2";
    return;
  }
  if (init() != kSuccess) {
    missing_ = "libnvidia-ml.so.1 doesn't start";
    return;
  }
  static_cast<void>(library_.find("nvmlShutdown", shutdown_));
  if (by_bus(bus_id.c_str(), &device_) != kSuccess) {
    device_ = nullptr;
    missing_ = "libnvidia-ml.so.1 doesn't know the GPU at " + bus_id;
    return;
  }
  // The newer name is tried first; drivers also keep the older one.
  if (!library_.find("nvmlDeviceGetCurrentClocksEventReasons", reasons_))
    static_cast<void>(library_.find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_));
  static_cast<void>(library_.find("nvmlDeviceGetTemperature", temperature_));
  static_cast<void>(library_.find("nvmlDeviceGetPowerUsage", power_));
  static_cast<void>(library_.find("nvmlDeviceGetEnforcedPowerLimit", power_limit_));
  static_cast<void>(library_.find("nvmlSystemGetDriverVersion", driver_));
  if (!clocks()) missing_ = "libnvidia-ml.so.1 doesn't tell the clocks of this GPU";
}
Nvml::~Nvml() {
  if (shutdown_ != nullptr) shutdown_();
}

std::optional<ClockReading> Nvml::clocks() const {
  if (device_ == nullptr) return {};
  const auto sm = asked(clock_, device_, kSmClock), memory = asked(clock_, device_, kMemoryClock);
  if (!sm) return {};
  ClockReading r{*sm, memory.value_or(0), 0};
  unsigned long long reasons = 0;
  if (reasons_ != nullptr && reasons_(device_, &reasons) == kSuccess) r.reasons = reasons;
  return r;
}
std::optional<double> Nvml::celsius() const {
  return device_ == nullptr ? std::nullopt : asked(temperature_, device_, kGpuSensor);
}
std::optional<double> Nvml::watts() const {
  const auto milliwatts = device_ == nullptr ? std::nullopt : asked(power_, device_);
  return milliwatts ? std::optional(kMilli * *milliwatts) : std::nullopt;
}
std::optional<double> Nvml::watts_allowed() const {
  const auto milliwatts = device_ == nullptr ? std::nullopt : asked(power_limit_, device_);
  return milliwatts ? std::optional(kMilli * *milliwatts) : std::nullopt;
}
std::string Nvml::driver() const {
  std::array<char, 96> text{};
  if (driver_ == nullptr || driver_(text.data(), static_cast<unsigned>(text.size() - 1)) != kSuccess) return {};
  return text.data();
}

}  // namespace draftline
