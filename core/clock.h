// SPDX-License-Identifier: Apache-2.0
// Simulated time in whole picoseconds, so that sums are exact and equal on every machine. The range is 106 days.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/quantity.h"

namespace draftline {

using Ticks = std::int64_t;  // a time or a duration in picoseconds
inline constexpr Ticks kForever = std::numeric_limits<Ticks>::max();
inline constexpr double kTicksPerSecond = 1e12;
// The longest time and the longest step that are simulated; sums of a few of them do not overflow Ticks.
inline constexpr Seconds kLongestTime{9e6}, kLongestStep{1e4};

// The nearest tick. Times beyond +-kLongestTime are clamped to it.
inline Ticks to_ticks(Seconds t) {
  return std::llround(std::clamp(t.value, -kLongestTime.value, kLongestTime.value) * kTicksPerSecond);
}
// The duration of one step, or of a part of it, rounded to a tick. Throws InputErrors if it exceeds kLongestStep or is
// not finite: the scenario's device or engine is then wrong.
inline Ticks step_ticks(Seconds t) {
  if (!(std::abs(t.value) <= kLongestStep.value))
    throw InputErrors("a step of this server, or what is done beside it, would take hours: no such device or engine");
  return std::llround(t.value * kTicksPerSecond);
}
inline Seconds to_seconds(Ticks t) { return {to_double(t) / kTicksPerSecond}; }

}  // namespace draftline
