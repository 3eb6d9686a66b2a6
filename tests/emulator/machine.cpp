// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/machine.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/emulator/run_grid.h"

namespace emulator {

// EMULATED_FAULT="1200 719": the 1200th call fails with error 719, and all that follow. EMULATED_DEVICES="0": there are
// none. EMULATED_MEMORY="1000000": so many bytes.
static Runtime from_environment() {
  Runtime r;
  if (const char* devices = std::getenv("EMULATED_DEVICES")) r.devices = std::atoi(devices);
  if (const char* memory = std::getenv("EMULATED_MEMORY")) r.memory = std::strtoull(memory, nullptr, 10);
  if (const char* fault = std::getenv("EMULATED_FAULT")) {
    char* rest = nullptr;
    const long nth = std::strtol(fault, &rest, 10);
    r.faults.push_back({"", nth, static_cast<cudaError_t>(std::atoi(rest)), true});
  }
  return r;
}
Runtime& runtime() {
  static Runtime r = from_environment();
  return r;
}

cudaError_t enter(const char* name) {
  Runtime& r = runtime();
  ++r.counts.calls;
  if (r.gone != cudaSuccess) return r.gone;
  for (auto f = r.faults.begin(); f != r.faults.end(); ++f) {
    if (!f->name.empty() && f->name != name) continue;
    if (f->left-- > 0) continue;
    const cudaError_t error = f->error;
    if (f->lost) r.gone = error;
    r.faults.erase(f);
    return error;
  }
  return cudaSuccess;
}
bool capturing() {
  for (EmulatedStream* s : runtime().streams)
    if (s->captured) return true;
  return false;
}
EmulatedStream& stream_of(cudaStream_t s) { return s == nullptr ? runtime().legacy : *s; }

void drain(EmulatedStream& s) {
  auto work = std::move(s.queue);
  s.queue.clear();
  for (auto& w : work) w();
}
void drain_all() {
  for (EmulatedStream* s : runtime().streams) drain(*s);
  drain(runtime().legacy);
}

bool inside(const std::map<const char*, std::size_t>& known, const void* p, std::size_t bytes) {
  const char* at = static_cast<const char*>(p);
  auto it = known.upper_bound(at);
  if (it == known.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second;
}

bool sound(const void* to, const void* from, std::size_t to_bytes, std::size_t from_bytes, cudaMemcpyKind kind) {
  const auto& device = runtime().device;
  const bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool out_of = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return inside(device, to, to_bytes) == into && inside(device, from, from_bytes) == out_of;
}

cudaError_t add(cudaStream_t stream, cudaGraphNodeType type, std::function<void()> run) {
  EmulatedStream& s = stream_of(stream);
  if (s.captured) s.captured->nodes.push_back({type, std::move(run)});
  else s.queue.push_back(std::move(run));
  return cudaSuccess;
}

cudaError_t allocate(std::map<const char*, std::size_t>& known, void** p, std::size_t bytes) {
  constexpr std::size_t kAligned = 256;  // as CUDA promises
  if (posix_memalign(p, kAligned, bytes == 0 ? 1 : bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*p, 0xff, bytes);
  known[static_cast<const char*>(*p)] = bytes;
  return cudaSuccess;
}

void reset() {
  Runtime& r = runtime();
  r.faults.clear();
  r.gone = r.last = cudaSuccess;
  r.memory = std::size_t{4} << 30;
  r.devices = 1, r.major = 9, r.minor = 0, r.driver = 13000;
  driver() = {}, link() = {}, event_clock() = {};
  const Counts old = r.counts;
  r.counts = {};
  r.counts.allocated = r.counts.peak_allocated = old.allocated;
  r.counts.pinned = old.pinned;
  r.counts.streams = old.streams, r.counts.events = old.events, r.counts.graphs = old.graphs;
}
void fail_call(long nth, cudaError_t error, bool lost) { runtime().faults.push_back({"", nth, error, lost}); }
void fail_call_of(const char* name, long nth, cudaError_t error, bool lost) {
  runtime().faults.push_back({name, nth, error, lost});
}
void limit_memory(std::size_t bytes) { runtime().memory = bytes; }
void use_device(int devices, int major, int minor, int driver_version) {
  Runtime& r = runtime();
  r.devices = devices, r.major = major, r.minor = minor, r.driver = driver_version;
}
const Counts& counts() { return runtime().counts; }
Driver& driver() {
  static Driver d;
  return d;
}
Link& link() {
  static Link l;
  return l;
}
EventClock& event_clock() {
  static EventClock c;
  return c;
}
std::chrono::steady_clock::time_point now_of_events() {
  using std::chrono::steady_clock;
  EventClock& c = event_clock();
  if (c.kernel == 0) return steady_clock::now();
  c.dice = c.dice * 6364136223846793005U + 1442695040888963407U;
  const double off = c.jitter * (static_cast<double>(c.dice >> 33) / (std::uint64_t{1} << 30) - 1);
  const std::chrono::duration<double> at(static_cast<double>(runtime().counts.kernels) * c.kernel + off);
  return steady_clock::time_point(std::chrono::duration_cast<steady_clock::duration>(at));
}

cudaError_t allow_shared(const void* kernel, int bytes) {
  if (bytes > static_cast<int>(kMostShared)) return cudaErrorInvalidValue;
  runtime().shared_allowed[kernel] = bytes;
  return cudaSuccess;
}

void await_previous() { ++runtime().awaits; }

cudaError_t launch(const cudaLaunchConfig_t& c, const void* kernel, std::function<void()> thread) {
  if (const cudaError_t fault = enter("cudaLaunchKernelEx"); fault != cudaSuccess) return fault;
  const auto threads = c.blockDim.x * c.blockDim.y * c.blockDim.z;
  const auto allowed = runtime().shared_allowed.find(kernel);
  const std::size_t most =
      allowed == runtime().shared_allowed.end() ? kFreeShared : static_cast<std::size_t>(allowed->second);
  if (threads == 0 || threads > 1024 || c.gridDim.x == 0 || c.gridDim.y == 0 || c.gridDim.z == 0 ||
      c.gridDim.x > 0x7fffffffU || c.gridDim.y > 65535 || c.gridDim.z > 65535 || c.dynamicSmemBytes > most)
    return cudaErrorInvalidConfiguration;
  const dim3 grid = c.gridDim, block = c.blockDim;
  const std::size_t shared = c.dynamicSmemBytes;
  const bool overlaps = c.numAttrs > 0 && c.attrs->val.programmaticStreamSerializationAllowed != 0;
  if (overlaps && runtime().major < 9) return cudaErrorInvalidValue;
  return add(c.stream, cudaGraphNodeTypeKernel, [=, thread = std::move(thread)] {
    ++runtime().counts.kernels;
    runtime().awaits = 0;
    run_grid(grid, block, shared, thread);
    if (overlaps && runtime().awaits != static_cast<long>(threads) * grid.x * grid.y * grid.z)
      throw std::logic_error("a kernel that may overlap the one before it has threads that don't wait for that once");
  });
}

cudaError_t enqueue(cudaStream_t stream, cudaGraphNodeType type, std::function<void()> run) {
  return add(stream, type, [type, run = std::move(run)] {
    ++(type == cudaGraphNodeTypeKernel ? runtime().counts.kernels : runtime().counts.copies);
    run();
  });
}

}  // namespace emulator
