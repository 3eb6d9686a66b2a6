// SPDX-License-Identifier: Apache-2.0
// How well measurements of `draftline validate` on a shared machine repeat, and what that does to the figures.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "measure/validation.h"

namespace draftline {

// What an error of each cell counts beside its noise: 1 / (noise^2 + median noise^2), so that no calm cell counts more
// than twice as much as one of median noise. All are above zero.
std::vector<double> weights_by_noise(const std::vector<ValidationCell>&);

// The highest clock of a GPU during any cell. None: not known.
std::optional<double> usual_clock(const std::vector<ValidationCell>&);
// Whether the clock was more than 3 % below the usual one while a cell was timed.
bool was_slowed(const ValidationCell&, std::optional<double> usual_clock);

std::string machine_calm(const std::vector<ValidationCell>&);  // some sentences; none without cells

}  // namespace draftline
