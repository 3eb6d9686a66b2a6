// SPDX-License-Identifier: Apache-2.0
// What an interpreter of tapes must do. Three exist: priced (computes nothing), cpu (the specification), cuda.
#pragma once
#include <span>
#include <vector>

#include "decoder/tape.h"

namespace draftline {

// Time that ops took, prefill included: by phase where phases can be told apart (a graph is one piece), and in all.
struct DeviceSeconds {
  double draft = 0, verify = 0, commit = 0, all = 0;
  double& of(Phase p) { return p == Phase::draft ? draft : p == Phase::verify ? verify : commit; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual void make_persistent(const Tensor&, std::span<const int> initial) = 0;  // empty: not written yet
  virtual void make_cache(const Cache&, int kv_slots, int capacity) = 0;
  virtual void stage(std::span<const int> data) = 0;        // for the Upload that is recorded next
  virtual void emitted(const Op&, const Tape&) {}           // run an op at once (cpu, for the debugger) ...
  virtual void finish(const Tape&) {}                       // ... or the whole segment (planned cpu, CUDA graph)
  virtual std::vector<int> read(const Tensor& buffer) = 0;  // waits; the only way a value reaches the host
  virtual DeviceSeconds device_seconds() { return {}; }     // since the start, of what has been waited for
};

}  // namespace draftline
