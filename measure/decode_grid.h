// SPDX-License-Identifier: Apache-2.0
// The decoding part of `draftline validate`: cells of its grid, timed one by one and kept in a file as they come.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/free_core.h"
#include "measure/validation_device.h"
#include "measure/watcher.h"

namespace draftline::measure {

struct GridAsked {
  std::filesystem::path file;  // of measured steps: what lies there is completed
  std::string device;          // "cpu", "cuda"
  std::vector<std::string> arguments;
  std::map<std::string, std::string> input_files;  // fingerprints of the grid and its networks, by names
  std::vector<GridCell> cells;
  int turns = 1;
  Seconds time_budget;
  std::optional<Seconds> time;  // for all of it, about: what is left then, or takes long, is left out
};
struct GridSteps {
  MeasuredSteps steps;
  std::size_t left_out = 0;
  bool whole = true;  // false: it was interrupted
};
// A cell that others disturbed is measured once more at the end. InputErrors: the file is another machine's.
GridSteps decode_grid(const GridAsked&, ValidationDevice&, Validation&, FreeCore&, const Watcher& = {});

}  // namespace draftline::measure
