// SPDX-License-Identifier: Apache-2.0
// The options of probing, for `probe` and `validate`.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "measure/probing.h"

namespace draftline::cli {

struct ProbeOptions {
  std::string device = "cpu", grid = "full";
  std::filesystem::path out = "measured.json";
  std::optional<double> seconds;  // time budget; none: 80 on a CPU, 150 on a GPU
  // Seconds to wait for other programs to leave a CPU core; none: three quarters of `seconds`, 0 on the small grid.
  std::optional<double> wait;
};
GridSize grid_size(const ProbeOptions&);
measure::ProbingAsked probing_asked(const ProbeOptions&);

}  // namespace draftline::cli
