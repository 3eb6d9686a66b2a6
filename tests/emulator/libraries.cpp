// SPDX-License-Identifier: Apache-2.0
// Stand-ins of NVML and NCCL, and the loader that finds them. A sum over ranks happens when the last of them has come
// to it.
#include <cuda_bf16.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cuda/runtime/library.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/libraries.h"

namespace {

// ---- NVML

constexpr int kRefused = 3;  // NVML_ERROR_NOT_SUPPORTED

int nvml_init() { return 0; }
int nvml_shutdown() { return 0; }
int nvml_by_bus(const char* bus, void** device) {
  *device = std::strcmp(bus, "0000:00:00.0") == 0 ? &emulator::driver() : nullptr;
  return *device == nullptr ? kRefused : 0;
}
int nvml_clock(void*, int which, unsigned* mhz) {
  const emulator::Driver& d = emulator::driver();
  *mhz = which == 1 ? d.sm_mhz : d.memory_mhz;
  return d.refuses ? kRefused : 0;
}
int nvml_reasons(void*, unsigned long long* reasons) {
  emulator::Driver& d = emulator::driver();
  *reasons = d.reasons;
  if (d.throttled_every > 0 && ++d.readings % d.throttled_every == 0) *reasons |= 0x4;
  return 0;
}
int nvml_temperature(void*, int, unsigned* celsius) {
  *celsius = emulator::driver().celsius;
  return 0;
}
int nvml_power(void*, unsigned* milliwatts) {
  *milliwatts = emulator::driver().milliwatts;
  return 0;
}
int nvml_power_limit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvml_driver(char* text, unsigned size) {
  std::snprintf(text, size, "580.65.06");
  return 0;
}

// ---- NCCL

struct Group {
  int ranks = 0;
};
struct Rank {
  std::shared_ptr<Group> group;
  int rank = 0;
};
// One sum. Whoever comes last does it; then it may be run again.
struct Sum {
  std::vector<std::vector<float>> messages;
  std::vector<__nv_bfloat16*> results;
  std::size_t arrived = 0;
};
struct Call {
  Rank* rank;
  const void* from;
  void* to;
  std::size_t values;
  cudaStream_t stream;
};
std::vector<Call>& calls() {
  static std::vector<Call> all;
  return all;
}

int nccl_init(Rank** ranks, int n, const int*) {
  if (emulator::link().fails) return 2;
  const auto group = std::make_shared<Group>(Group{n});
  for (int r = 0; r < n; ++r) ranks[r] = new Rank{group, r};
  return 0;
}
int nccl_destroy(Rank* rank) {
  delete rank;
  return 0;
}
int nccl_start() {
  calls().clear();
  return 0;
}
int nccl_sum(const void* from, void* to, std::size_t values, int type, int op, Rank* rank, cudaStream_t stream) {
  if (type != 9 || op != 0) return 4;
  calls().push_back({rank, from, to, values, stream});
  return 0;
}
int nccl_end() {
  const std::vector<Call> group = std::exchange(calls(), {});
  if (group.empty() || static_cast<int>(group.size()) != group[0].rank->group->ranks) return 5;
  const auto sum = std::make_shared<Sum>();
  sum->messages.resize(group.size());
  sum->results.resize(group.size());
  for (const Call& c : group) {
    const auto r = static_cast<std::size_t>(c.rank->rank);
    const auto arrive = [sum, r, c] {
      const auto* from = static_cast<const __nv_bfloat16*>(c.from);
      sum->messages[r].clear();
      for (std::size_t i = 0; i < c.values; ++i) sum->messages[r].push_back(__bfloat162float(from[i]));
      sum->results[r] = static_cast<__nv_bfloat16*>(c.to);
      if (++sum->arrived < sum->messages.size()) return;
      sum->arrived = 0;
      for (std::size_t i = 0; i < c.values; ++i) {
        float total = emulator::link().wrong ? 1.0F : 0.0F;
        for (const auto& message : sum->messages) total += message[i];
        for (__nv_bfloat16* to : sum->results) to[i] = __float2bfloat16(total);
      }
    };
    if (emulator::enqueue(c.stream, cudaGraphNodeTypeKernel, arrive) != cudaSuccess) return 1;
  }
  return 0;
}
const char* nccl_words(int) { return "unhandled system error"; }

using emulator::Functions;
template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}
const Functions& nvml() {
  static const Functions known{{"nvmlInit_v2", address(nvml_init)},
                               {"nvmlShutdown", address(nvml_shutdown)},
                               {"nvmlDeviceGetHandleByPciBusId_v2", address(nvml_by_bus)},
                               {"nvmlDeviceGetClockInfo", address(nvml_clock)},
                               {"nvmlDeviceGetCurrentClocksThrottleReasons", address(nvml_reasons)},
                               {"nvmlDeviceGetTemperature", address(nvml_temperature)},
                               {"nvmlDeviceGetPowerUsage", address(nvml_power)},
                               {"nvmlDeviceGetEnforcedPowerLimit", address(nvml_power_limit)},
                               {"nvmlSystemGetDriverVersion", address(nvml_driver)}};
  return known;
}

const Functions& nccl() {
  static const Functions known{{"ncclCommInitAll", address(nccl_init)}, {"ncclCommDestroy", address(nccl_destroy)},
                               {"ncclGroupStart", address(nccl_start)}, {"ncclGroupEnd", address(nccl_end)},
                               {"ncclAllReduce", address(nccl_sum)},    {"ncclGetErrorString", address(nccl_words)}};
  return known;
}

}  // namespace

static bool& cublas_is_hidden() {
  static bool hidden = false;
  return hidden;
}
void emulator::hide_libraries(bool hidden) { cublas_is_hidden() = hidden; }

namespace draftline::cuda {

Library::Library(const std::vector<std::string>& names) {
  const auto named = [&](const char* name) { return names.front().find(name) != std::string::npos; };
  const auto open = [&](const Functions& f, bool hidden) { handle_ = hidden ? nullptr : const_cast<Functions*>(&f); };
  if (named("cublasLt")) open(emulator::cublas(), cublas_is_hidden());
  if (named("nvidia-ml")) open(nvml(), emulator::driver().hidden);
  if (named("nccl")) open(nccl(), emulator::link().hidden);
}
Library::~Library() = default;
void* Library::symbol(const char* name) const {
  if (handle_ == nullptr) return nullptr;
  const Functions& known = *static_cast<const Functions*>(handle_);
  const auto it = known.find(name);
  return it == known.end() ? nullptr : it->second;
}

}  // namespace draftline::cuda
