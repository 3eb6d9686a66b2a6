// SPDX-License-Identifier: Apache-2.0
#include "measure/core_monitor.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

namespace {

bool mostly(const ClockReference::Readings& now, const ClockReference::Readings& then, double share) {
  return static_cast<double>(now.free - then.free) >= share * static_cast<double>(now.all - then.all);
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

std::string CoreMonitor::report() const {
  constexpr Seconds kWorthSaying{0.5};
  if (waited_ < kWorthSaying) return {};
  return "waited " + significant(waited_.value, 2) + " s for other programs to leave the core" +
         (waited_ < at_most_ ? "" : ", then went on beside them");
}

}  // namespace draftline::measure
