// SPDX-License-Identifier: Apache-2.0
// How calm a shared machine was while `draftline validate` measured it, and what that does to the figures.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "reports/validation_report.h"

namespace draftline {

// The times to read weights from a level of the caches, beside cells over while probed.
struct LevelDrift {
  std::string level;  // "LLC", "memory"
  std::size_t cells = 0;
  double low = 1, median = 1, high = 1;  // P10, P50, P90 over the cells
};
std::vector<LevelDrift> level_drift(const std::vector<ValidationCell>&);  // empty: no cell knows its drift

// What an error of each cell counts beside its noise: 1 / (noise^2 + median noise^2), so that no calm cell counts more
// than twice as much as one of median noise. All are above zero.
std::vector<double> weights_by_noise(const std::vector<ValidationCell>&);

// The highest clock of a GPU during any cell. None: not known.
std::optional<double> usual_clock(const std::vector<ValidationCell>&);
// Whether the clock was more than 3 % below the usual one while a cell was timed.
bool was_slowed(const ValidationCell&, std::optional<double> usual_clock);

std::string machine_calm(const ValidationReport&);  // a few sentences

}  // namespace draftline
