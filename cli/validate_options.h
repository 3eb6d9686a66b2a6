// SPDX-License-Identifier: Apache-2.0
// The options of `draftline validate`.
#pragma once
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/quantity.h"

namespace draftline::cli {

inline constexpr const char* kRateOption = "--acceptance-rate";

struct ValidateOptions {
  std::string device = "cpu", grid = "standard";
  std::filesystem::path out = "validation", measured, steps, markdown, html;
  std::string datasheet;
  std::vector<std::string> parts, methods, networks;
  std::vector<int> batches;
  bool full = false, json = false;
  int turns = 4, requests = 60;
  double time_budget = 0.02;
  std::optional<double> asked_rate;
  double rate() const { return asked_rate.value_or(0.7); }
  std::optional<double> probe_seconds, seconds, serving_seconds, wait;
  bool gpu() const { return device == "cuda"; }
  bool has(const std::string& part) const { return parts.empty() || std::ranges::find(parts, part) != parts.end(); }
  double of_probing() const { return probe_seconds.value_or(gpu() ? 140 : 60); }
  double of_decoding() const { return seconds.value_or(gpu() ? 180 : 290); }
  // Time to wait for other programs to leave a CPU core: while probing, and afterwards.
  double of_waiting() const { return 0.5 * wait.value_or(grid == "small" ? 0 : 100); }
  std::optional<Seconds> of_serving() const {
    if (serving_seconds) return Seconds{*serving_seconds};
    return gpu() && !full ? std::optional(Seconds{60}) : std::nullopt;
  }
};

void add_validate_options(CLI::App& verb, ValidateOptions&);  // the options outlive the verb

}  // namespace draftline::cli
