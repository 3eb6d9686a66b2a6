// SPDX-License-Identifier: Apache-2.0
// The time of a step's ops on a CPU, whose caches may hold a small network from step to step: the walk starts where the
// step before it ended. Activations lie where those before them lay, so they push nothing out. Attention, GEMMs and ops
// on lines that were last accessed a step ago vary.
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
  // Bytes of weights accessed since this op's were, its own included, or, of an op on a KV cache, since attention last
  // read the entries of its layer.
  LastAccess last_access(const StepOutline::Op&);
  void note(const StepOutline::Op&);

  const CpuModel& cpu_;
  std::vector<std::optional<Seconds>> times_;                   // of each kind of op that does not vary
  std::vector<std::optional<Bytes>> last_use_, last_attended_;  // of each weight; of each layer
  Bytes accessed_, step_;
};

// The time of a step that depends on itself: the longer a step takes, the more of the last-level cache co-runners have
// filled meanwhile.
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
