// SPDX-License-Identifier: Apache-2.0
#include "reports/machine_calm.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "model/devices/fit_quality.h"
#include "reports/table.h"

namespace draftline {

namespace {

std::vector<double> noises(const std::vector<ValidationCell>& cells) {
  std::vector<double> all;
  for (const ValidationCell& c : cells) all.push_back(c.speedup.noise);
  return all;
}

std::string two_digits(double share) { return significant(100 * share, 2) + " %"; }

std::string drift_sentence(const std::vector<ValidationCell>& cells) {
  const auto levels = level_drift(cells);
  if (levels.empty()) return {};
  const auto range = [](const LevelDrift& d) {
    return significant(d.low, 3) + " to " + significant(d.high, 3) + " (median " + significant(d.median, 3) + ")";
  };
  std::vector<double> without;
  for (const ValidationCell& c : cells)
    if (c.without_drift) without.push_back(*c.without_drift);
  const ErrorSummary as_probed = summarize(without);
  return " Beside the cells the last-level cache took " + range(levels[0]) +
         " times as long to answer as while the machine was probed, memory " + range(levels[1]) +
         "; each cell is predicted with what was read beside it. For the machine as probed the errors of speedups "
         "would be " +
         two_digits(*as_probed.median) + " (median) and " + two_digits(*as_probed.p90) + " (P90).";
}

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

std::vector<LevelDrift> level_drift(const std::vector<ValidationCell>& cells) {
  std::vector<double> llc, memory;
  for (const ValidationCell& c : cells)
    if (c.drift) llc.push_back(c.drift->llc), memory.push_back(c.drift->memory);
  if (llc.empty()) return {};
  const auto of = [](const char* level, const std::vector<double>& all) {
    return LevelDrift{level, all.size(), quantile(all, 0.1), quantile(all, 0.5), quantile(all, 0.9)};
  };
  return {of("LLC", llc), of("memory", memory)};
}

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

std::string machine_calm(const ValidationReport& r) {
  std::string text;
  if (r.device == "cpu")
    text = "While cells were timed the core was free in " + two_digits(r.free_core) +
           " of the clock reference's readings.";
  if (r.cells.empty()) return text;
  text += drift_sentence(r.cells);
  const std::vector<double> noise = noises(r.cells);
  std::size_t within = 0;
  for (const ValidationCell& c : r.cells) within += c.speedup.within_noise();
  return text + (text.empty() ? "" : " ") + "Half of the cells' speedups repeat within " +
         two_digits(quantile(noise, 0.5)) + ", nine in ten within " + two_digits(quantile(noise, 0.9)) +
         "; an error below its cell's noise (" + std::to_string(within) + " of " + std::to_string(r.cells.size()) +
         " cells) says nothing of the model." + clock_sentence(r.cells);
}

}  // namespace draftline
