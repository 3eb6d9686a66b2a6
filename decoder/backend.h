// SPDX-License-Identifier: Apache-2.0
// The interface of an interpreter of tapes. There are three: `priced` computes nothing, `cpu` is the specification,
// `cuda` runs on a GPU.
#pragma once
#include <span>
#include <vector>

#include "decoder/tape.h"

namespace draftline {

// The time of ops, prefill included: in total, and by phase if a backend can separate phases (not within a replayed
// CUDA graph).
struct DeviceSeconds {
  double draft = 0, verify = 0, commit = 0, all = 0;
  double& of(Phase p) { return p == Phase::draft ? draft : p == Phase::verify ? verify : commit; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Allocates a persistent buffer of the tensor's shape with these int32 values. Without values it is uninitialised.
  virtual void make_persistent(const Tensor&, std::span<const int> initial) = 0;
  // Allocates keys and values of `kv_slots` sequences with room for `capacity` entries each.
  virtual void make_cache(const Cache&, int kv_slots, int capacity) = 0;
  // Allocates the states of `kv_slots` sequences.
  virtual void make_state_cache(const StateCache&, int kv_slots) = 0;
  // Stores the host data of the next recorded Upload.
  virtual void stage(std::span<const int> data) = 0;
  // Called when an op is recorded. A backend may run it at once (cpu in immediate mode) ...
  virtual void emitted(const Op&, const Tape&) {}
  // ... or run the whole segment when it ends (cpu in planned mode, cuda).
  virtual void finish(const Tape&) {}
  // Waits for all finished segments, then returns the int32 values of a view of a persistent buffer, row by row. No
  // value reaches the host in another way.
  virtual std::vector<int> read(const Tensor& buffer) = 0;
  // The time of all completed segments since the backend was made.
  virtual DeviceSeconds device_seconds() { return {}; }
};

}  // namespace draftline
