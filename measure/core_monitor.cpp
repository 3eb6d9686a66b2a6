// SPDX-License-Identifier: Apache-2.0
#include "measure/core_monitor.h"

#include <algorithm>

#include "probes/stopwatch.h"

namespace draftline::measure {

namespace {

bool mostly(const ClockReference::Readings& now, const ClockReference::Readings& then, double share) {
  return to_double(now.free - then.free) >= share * to_double(now.all - then.all);
}

}  // namespace

// The core is free when most of 30 readings are undisturbed: a co-runner may pause for less than that.
void CoreMonitor::wait(const std::function<void()>& waiting) {
  if (!read_) return;
  constexpr int kInARow = 30;  // 3 ms
  constexpr double kFree = 0.9;
  const Seconds before = waited_;
  const Stopwatch watch;
  while (before + watch.wall() < at_most_ && !interrupted_()) {
    const ClockReference::Readings now = read_(0);
    if (mostly(read_(kInARow), now, kFree)) break;
    if (waiting) waiting();
    waited_ = before + watch.wall();
  }
  if (before + watch.wall() >= at_most_) waited_ = at_most_;
  then_ = read_(0);
}

bool CoreMonitor::stayed_free() const {
  constexpr double kShared = 0.7;
  return !read_ || mostly(read_(0), then_, kShared);
}

}  // namespace draftline::measure
