// SPDX-License-Identifier: Apache-2.0
// Waits until other programs leave the core. A program on the core's SMT sibling runs for seconds to minutes. It slows
// arithmetic by a factor of 1.4 to 1.7 but hardly slows memory reads, so times can't be corrected afterwards.
#pragma once
#include <functional>

#include "core/quantity.h"
#include "probes/cpu_probe.h"

namespace draftline::measure {

class CoreMonitor {
 public:
  using Read = std::function<ClockReference::Readings(int more)>;
  // `read` reads the clock reference; without it wait() returns at once. `at_most`: the limit on the total time of all
  // waits.
  CoreMonitor(
      Read read, Seconds at_most, std::function<bool()> interrupted = [] { return false; })
      : read_(std::move(read)), at_most_(at_most), interrupted_(std::move(interrupted)) {}
  // Waits until the core is free, the time is used up, or the wait is interrupted. `waiting` is called repeatedly
  // meanwhile.
  void wait(const std::function<void()>& waiting = {});
  bool stayed_free() const;  // whether most readings since the last wait were those of a free core

 private:
  Read read_;
  Seconds at_most_, waited_;
  std::function<bool()> interrupted_;
  ClockReference::Readings then_;
};

}  // namespace draftline::measure
