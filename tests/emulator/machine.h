// SPDX-License-Identifier: Apache-2.0
// What the emulated machine is made of: devices, memory, streams, faults; and what the runtime's calls do with it.
#pragma once
#include <cuda_runtime.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/emulator.h"

struct EmulatedNode {
  cudaGraphNodeType type;
  std::function<void()> run;
};
struct EmulatedGraph {
  std::vector<EmulatedNode> nodes;
};
struct EmulatedStream {
  std::vector<std::function<void()>> queue;
  std::unique_ptr<EmulatedGraph> captured;
};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point at;
  bool recorded = false;
};

namespace emulator {

// A block's: of sm_86 and sm_89, the tightest we build for; and without asking for more.
inline constexpr std::size_t kMostShared = 99 * 1024, kFreeShared = 48 * 1024;

struct Fault {
  std::string name;  // empty: any call
  long left = 0;
  cudaError_t error = cudaSuccess;
  bool lost = false;
};
struct Runtime {
  std::map<const char*, std::size_t> device, pinned;  // by address
  std::set<EmulatedStream*> streams;
  EmulatedStream legacy;
  std::map<const void*, int> shared_allowed;
  std::vector<Fault> faults;
  cudaError_t gone = cudaSuccess, last = cudaSuccess;
  std::size_t memory = std::size_t{4} << 30;
  long awaits = 0;
  int devices = 1, major = 9, minor = 0, driver = 13000;
  Counts counts;
};
Runtime& runtime();

std::chrono::steady_clock::time_point now_of_events();
cudaError_t enter(const char* name);  // counts a call and says whether it is made to fail
#define ENTER() \
  if (const cudaError_t fault = enter(__func__); fault != cudaSuccess) return fault

bool capturing();
// Calls that would wait or allocate spoil a capture that is under way.
#define NOT_WHILE_CAPTURING() \
  if (capturing()) return cudaErrorStreamCaptureUnsupported

EmulatedStream& stream_of(cudaStream_t);
void drain(EmulatedStream&);
void drain_all();
bool inside(const std::map<const char*, std::size_t>& known, const void* p, std::size_t bytes);
// One side of a copy lies where the kind says it does.
bool sound(const void* to, const void* from, std::size_t to_bytes, std::size_t from_bytes, cudaMemcpyKind);
cudaError_t add(cudaStream_t, cudaGraphNodeType, std::function<void()> run);
cudaError_t allocate(std::map<const char*, std::size_t>& known, void** p, std::size_t bytes);

}  // namespace emulator
