// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace draftline {

// A range of a figure, in its unit; low <= high.
struct Interval {
  double low = 0, high = 0;
};

// A range of a figure as ratios to the figure, from low to high.
struct RatioInterval {
  double low = 1, high = 1;
  Interval of(double figure) const { return {low * figure, high * figure}; }
};

}  // namespace draftline
