// SPDX-License-Identifier: Apache-2.0
// The time of a step's ops on a CPU, whose caches may keep a small network between steps: pricing starts from the state
// at the end of the previous step. Activations reuse the same memory, so they evict nothing. The times of attention,
// GEMMs and ops on lines last accessed a step ago vary.
#pragma once
#include <cmath>
#include <optional>

#include "decoder/priced/pricer.h"

namespace draftline {

class CpuPricer : public Pricer {
 public:
  CpuPricer(const Device&, const CpuModel&, const Engine&, const StepOutline&);
  VaryingOp varying(const StepOutline::Op&) override;
  Seconds time(const StepOutline::Op&) override;
  Bytes step_weights() const override { return step_; }

 private:
  struct TimeOf;  // of a kernel
  // Bytes of weights accessed since the last access to this op's weights, these included; for an op on a KV cache,
  // since attention last read the entries of its layer.
  LastAccess last_access(const StepOutline::Op&);
  void note(const StepOutline::Op&);

  const CpuModel& cpu_;
  std::vector<std::optional<Seconds>> times_;                   // of each kind of op with constant time
  std::vector<std::optional<Bytes>> last_use_, last_attended_;  // by weight; by layer
  Bytes accessed_, step_;
};

// The time of a step that depends on itself: the longer a step takes, the more of the last-level cache other programs
// fill meanwhile.
template <class Time>
Seconds fixed_point(Time time) {
  constexpr int kMost = 100;
  constexpr double kClose = 1e-10;
  Seconds t = time(Seconds{});
  for (int i = 0; i < kMost; ++i) {
    const Seconds next = time(t);
    if (std::abs((next - t).value) <= kClose * next.value) return next;
    t = next;
  }
  return t;
}

}  // namespace draftline
