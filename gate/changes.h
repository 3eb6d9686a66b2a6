// SPDX-License-Identifier: Apache-2.0
// The differences of two answers, figure by figure, beyond a tolerance.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gate/figures.h"

namespace draftline::gate {

// The relative difference in a figure that other compilers and C libraries may cause.
inline constexpr double kRounding = 1e-9;

// Whether a figure is the hash of a simulation's events, which changes completely with any change of any time.
bool is_event_stream(const std::string& figure);

struct Change {
  enum class Kind { moved, appeared, lost } kind = Kind::moved;
  PointKey point;
  std::string figure;              // "" if the whole point is new or lost
  Json was, is;                    // null if it did not exist
  std::optional<double> relative;  // is / was - 1; none for texts, and if `was` is 0
  double tolerance = 0;            // relative
};

// Joins points by their keys and compares their figures. If a point is skipped in one of the answers, this is its only
// change. Numbers, also those in a text with a unit ("2.4 us") and in lists, may differ by `tolerance` relative to the
// larger one. Everything else must be equal; event streams are compared only up to a tolerance of kRounding. Lost and
// new points and figures come first, then changes by size.
std::vector<Change> changes_between(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is,
                                    double tolerance);

std::size_t count_figures(const std::vector<PointFigures>&);
std::string shown(const Json& figure);  // readable text, with at most 6 significant digits

}  // namespace draftline::gate
