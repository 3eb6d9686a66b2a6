// SPDX-License-Identifier: Apache-2.0
#include "reports/cell_noise.h"

#include <algorithm>

#include "model/devices/fit_quality.h"

namespace draftline {

std::vector<double> weights_by_noise(const std::vector<ValidationCell>& cells) {
  if (cells.empty()) return {};
  constexpr double kLeast = 1e-3;  // where nothing scatters, all cells count alike
  std::vector<double> noise;
  for (const ValidationCell& c : cells) noise.push_back(c.speedup.noise);
  const double median = std::max(quantile(noise, 0.5), kLeast);
  std::vector<double> weights;
  for (const double n : noise) weights.push_back(1 / (n * n + median * median));
  return weights;
}

std::optional<double> usual_clock(const std::vector<ValidationCell>& cells) {
  std::optional<double> highest;
  for (const ValidationCell& c : cells)
    if (c.clock_mhz) highest = std::max(highest.value_or(0), *c.clock_mhz);
  return highest;
}
bool was_slowed(const ValidationCell& c, std::optional<double> usual) {
  constexpr double kPlainly = 0.97;
  return c.clock_mhz && usual && *c.clock_mhz < kPlainly * *usual;
}

}  // namespace draftline
