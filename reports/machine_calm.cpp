// SPDX-License-Identifier: Apache-2.0
#include "reports/machine_calm.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "model/devices/fit_quality.h"

namespace draftline {

namespace {

std::vector<double> noises(const std::vector<ValidationCell>& cells) {
  std::vector<double> all;
  for (const ValidationCell& c : cells) all.push_back(c.speedup.noise);
  return all;
}

std::string two_digits(double share) { return significant(100 * share, 2) + " %"; }

// Of steps during which a GPU's clock fell, which no prediction knows.
std::string clock_sentence(const std::vector<ValidationCell>& cells) {
  const auto usual = usual_clock(cells);
  const auto slowed = [&](const ValidationCell& c) { return was_slowed(c, usual); };
  const auto all = errors_of(cells, &ValidationCell::step, slowed),
             others = errors_of(cells, &ValidationCell::step, [&](const ValidationCell&c) { return !slowed(c); });
  if (all.empty()) return {};
  return " In " + std::to_string(all.size()) + " of " + std::to_string(cells.size()) +
         " cells the clock was more than 3 % below " + significant(*usual, 4) +
         " MHz. The median of their steps' errors, with its sign, is " + two_digits(quantile(all, 0.5)) +
         (others.empty() ? "." : ", of the others " + two_digits(quantile(others, 0.5)) + ".");
}

}  // namespace

std::vector<double> weights_by_noise(const std::vector<ValidationCell>& cells) {
  if (cells.empty()) return {};
  constexpr double kLeast = 1e-3;  // where nothing scatters, all cells count alike
  const std::vector<double> noise = noises(cells);
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

std::string machine_calm(const std::vector<ValidationCell>& cells) {
  if (cells.empty()) return {};
  const std::vector<double> noise = noises(cells);
  const auto within =
      std::count_if(cells.begin(), cells.end(), [](const ValidationCell& c) { return c.speedup.within_noise(); });
  return "Half of the cells' speedups repeat within " + two_digits(quantile(noise, 0.5)) + ", nine in ten within " +
         two_digits(quantile(noise, 0.9)) + "; an error below its cell's noise (" + std::to_string(within) + " of " +
         std::to_string(cells.size()) + " cells) says nothing of the model." + clock_sentence(cells);
}

}  // namespace draftline
