// SPDX-License-Identifier: Apache-2.0
// Finds the stretches of an axis on which a property holds. It is tested at given points, and ends of stretches are
// found by bisection; a stretch or a gap between two neighbouring points is not found.
#pragma once
#include <optional>
#include <vector>

namespace draftline {

template <class T>
struct Stretch {
  T from{}, to{};  // the property holds at both ends
  bool operator==(const Stretch&) const = default;
};

// `points` ascend. `middle(a, b)`: a point between a and b, or none if they are close enough.
template <class T, class Holds, class Middle>
std::vector<Stretch<T>> stretches(const std::vector<T>& points, Holds holds, Middle middle) {
  std::vector<Stretch<T>> all;
  bool before = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool here = holds(points[i]);
    if (i > 0 && here != before) {
      T low = points[i - 1], high = points[i];
      while (const std::optional<T> m = middle(low, high)) (holds(*m) == before ? low : high) = *m;
      if (here) all.push_back({high, points[i]});
      else all.back().to = low;
    } else if (here && i == 0) {
      all.push_back({points[i], points[i]});
    } else if (here) {
      all.back().to = points[i];
    }
    before = here;
  }
  return all;
}

}  // namespace draftline
