// SPDX-License-Identifier: Apache-2.0
// The noise of cells measured on a shared machine, and cells during which a GPU's clock fell.
#pragma once
#include <optional>
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

}  // namespace draftline
