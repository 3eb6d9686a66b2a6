// SPDX-License-Identifier: Apache-2.0
// Places of the names of a chart's points: next to their points, clear of all points and of each other. In pixels, y
// downwards.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/int_indexed.h"

namespace draftline {

class LabelPlaces {
 public:
  struct Box {
    double left, top, right, bottom;
    bool meets(const Box& b) const { return left < b.right && b.left < right && top < b.bottom && b.top < bottom; }
    bool holds(const Box& b) const { return left <= b.left && b.right <= right && top <= b.top && b.bottom <= bottom; }
  };
  struct Place {
    double x, y;        // of the text's baseline
    bool ends = false;  // there; otherwise it begins there
  };

  explicit LabelPlaces(const Box& within) : within_(within) {}

  // No name is written over this point.
  void keep_clear(double x, double y) { taken_.push_back({x - kRadius, y - kRadius, x + kRadius, y + kRadius}); }

  // A place next to a point for a name of this many characters; it is taken from now on. None if there is no room.
  // Above on the right is best: a line through points that are better the lower they lie passes below.
  std::optional<Place> beside(double x, double y, std::size_t characters) {
    const std::array<Place, 6> places{Place{x + 7, y - 6},  {x - 7, y + 15, true}, {x + 9, y + 4},
                                      {x - 9, y + 4, true}, {x + 7, y + 15},       {x - 7, y - 6, true}};
    for (const Place& p : places) {
      const double width = kCharacter * to_double(characters), left = p.ends ? p.x - width : p.x;
      const Box box{left, p.y - kAbove, left + width, p.y + kBelow};
      const auto covers = [&](const Box& other) { return box.meets(other); };
      if (!within_.holds(box) || std::ranges::any_of(taken_, covers)) continue;
      taken_.push_back(box);
      return p;
    }
    return std::nullopt;
  }

 private:
  // kRadius is that of a point. The others are of text of 13 pixels: a character's usual width, and what lies above and
  // below the baseline.
  static constexpr double kRadius = 4, kCharacter = 7.2, kAbove = 11, kBelow = 3;

  Box within_;
  std::vector<Box> taken_;
};

}  // namespace draftline
