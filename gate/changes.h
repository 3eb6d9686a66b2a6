// SPDX-License-Identifier: Apache-2.0
// What moved between two answers: figure by figure, by how much, against which tolerance.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gate/figures.h"

namespace draftline::gate {

struct Change {
  enum class Kind { moved, appeared, lost } kind = Kind::moved;
  PointKey point;
  std::string figure;              // "": the whole point
  Json was, is;                    // null where there is none
  std::optional<double> relative;  // is / was - 1; none where that says nothing
  double tolerance = 0;
};

// Points are joined by their keys. Of a point that is skipped now, or was, this alone is a change, not the figures that
// it lacks. Numbers, also those with a unit behind them ("2.4 us"), may differ by `tolerance` relative to the larger;
// everything else must be equal. Largest first: lost and appeared ones, then by size.
std::vector<Change> changes_between(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is,
                                    double tolerance);

std::size_t count_figures(const std::vector<PointFigures>&);
std::string shown(const Json& figure);  // for people: at most 6 significant digits

}  // namespace draftline::gate
