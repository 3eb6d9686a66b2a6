// SPDX-License-Identifier: Apache-2.0
// The interface of an interpreter of tapes. Three exist: `priced` computes nothing, `cpu` is the specification, `cuda`
// runs on a GPU.
#pragma once
#include <span>
#include <vector>

#include "decoder/tape.h"

namespace draftline {

// Seconds that ops took, prefill included: in all, and by phase where a backend can separate phases (a replayed CUDA
// graph cannot be taken apart).
struct DeviceSeconds {
  double draft = 0, verify = 0, commit = 0, all = 0;
  double& of(Phase p) { return p == Phase::draft ? draft : p == Phase::verify ? verify : commit; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Allocates a persistent buffer of the tensor's shape with these int32 values. No values: it is not written yet.
  virtual void make_persistent(const Tensor&, std::span<const int> initial) = 0;
  // Allocates keys and values of `kv_slots` sequences with room for `capacity` entries each.
  virtual void make_cache(const Cache&, int kv_slots, int capacity) = 0;
  // Allocates the states of `kv_slots` sequences.
  virtual void make_state_cache(const StateCache&, int kv_slots) = 0;
  // Keeps the host data of the Upload that is recorded next.
  virtual void stage(std::span<const int> data) = 0;
  // An op was recorded. A backend may run it at once (cpu in immediate mode) ...
  virtual void emitted(const Op&, const Tape&) {}
  // ... or run the whole segment when it ends (cpu in planned mode, cuda).
  virtual void finish(const Tape&) {}
  // Waits for all that was finished, then returns the int32 values of a view of a persistent buffer, row by row. This
  // is the only way in which a value reaches the host.
  virtual std::vector<int> read(const Tensor& buffer) = 0;
  // The time of all segments that have been waited for since the backend was made.
  virtual DeviceSeconds device_seconds() { return {}; }
};

}  // namespace draftline
