// SPDX-License-Identifier: Apache-2.0
// The origin of a group of numbers in a device file, and their uncertainty.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/interval.h"
#include "core/reader.h"
#include "model/devices/fit_quality.h"

namespace draftline {

// How the numbers came about.
inline constexpr std::array<std::string_view, 6> kOrigins{"quoted",  "measured", "calibrated",
                                                          "derived", "default",  "guess"};

struct Origin {
  std::string kind;             // one of kOrigins
  std::string source, locator;  // a key of data/sources.json, and the place in it
  std::string borrowed_from;    // the related device from which the coefficients were transferred; empty: none
  std::string because;          // the reason for a transfer or a guess
  std::optional<RatioInterval>
      interval;  // 90 % of measured times lie between low and high x predicted; none: not known
  FitSpread spread;
};

// Mistakes are noted at their places.
Origin read_origin(Reader);

// Reads the origin of a value of an engine profile. A guess gives a reason instead of a source. Returns whether the
// value is a guess.
bool read_profile_origin(const Reader&);

}  // namespace draftline
