// SPDX-License-Identifier: Apache-2.0
// The decoding part of `draftline validate`: times the cells of its grid one by one and saves each to a file.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/core_monitor.h"
#include "measure/validation_device.h"
#include "measure/watcher.h"

namespace draftline::measure {

struct GridAsked {
  std::filesystem::path file;  // measured steps; if it exists, only missing cells are measured
  std::string device;          // "cpu", "cuda"
  std::vector<std::string> arguments;
  std::map<std::string, std::string> input_files;  // fingerprints of the grid and its networks, by names
  std::vector<GridCell> cells;
  int turns = 1;
  Seconds time_budget;
  std::optional<Seconds> time;  // approximate, for all cells; slow and remaining cells are then skipped
  // Called before each cell with the finished share of the work. Its own time is not counted.
  std::function<void(double over)> between_cells = {};
};
struct GridSteps {
  MeasuredSteps steps;
  std::size_t left_out = 0;
  bool whole = true;  // false if it was interrupted
};
// Measures the cells. A cell that other programs disturbed is measured again at the end. Throws InputErrors if the file
// was written on another machine or with other arguments.
GridSteps decode_grid(const GridAsked&, ValidationDevice&, Validation&, CoreMonitor&, const Watcher& = {});

}  // namespace draftline::measure
