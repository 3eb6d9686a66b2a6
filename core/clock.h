// SPDX-License-Identifier: Apache-2.0
// Simulated time: whole picoseconds, so that sums are exact and equal everywhere. 106 days fit.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/errors.h"
#include "core/quantity.h"

namespace draftline {

using Ticks = std::int64_t;
inline constexpr Ticks kForever = std::numeric_limits<Ticks>::max();
inline constexpr double kTicksPerSecond = 1e12;
inline constexpr Seconds kLongestTime{9e6}, kLongestStep{1e4};  // short enough that sums of a few steps fit too

// What is longer than simulated time is as long as that.
inline Ticks to_ticks(Seconds t) {
  return std::llround(std::clamp(t.value, -kLongestTime.value, kLongestTime.value) * kTicksPerSecond);
}
// Of what one step takes, or of what is done beside it. InputErrors if that is hours: of a device or engine that can't
// be.
inline Ticks step_ticks(double picoseconds) {
  if (!(std::abs(picoseconds) <= kLongestStep.value * kTicksPerSecond))
    throw InputErrors("a step of this server, or what is done beside it, would take hours: no such device or engine");
  return std::llround(picoseconds);
}
inline Ticks step_ticks(Seconds t) { return step_ticks(t.value * kTicksPerSecond); }
inline Seconds to_seconds(Ticks t) { return {static_cast<double>(t) / kTicksPerSecond}; }

}  // namespace draftline
