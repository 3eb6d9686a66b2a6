// SPDX-License-Identifier: Apache-2.0
// Simulated time: whole picoseconds, so that sums are exact and equal everywhere. 106 days fit.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/quantity.h"

namespace draftline {

using Ticks = std::int64_t;
inline constexpr Ticks kForever = std::numeric_limits<Ticks>::max();
inline constexpr double kTicksPerSecond = 1e12;
inline constexpr Seconds kLongestTime{9e6};

inline Ticks to_ticks(Seconds t) { return std::llround(t.value * kTicksPerSecond); }
inline Seconds to_seconds(Ticks t) { return {static_cast<double>(t) / kTicksPerSecond}; }

}  // namespace draftline
