// SPDX-License-Identifier: Apache-2.0
// `draftline calibrate --served`: fits the profile of an engine to benchmarks of a server.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "predict/served_points.h"

namespace draftline::cli {

struct ServedOptions : ServerSetup {
  std::vector<std::string> files;
  std::filesystem::path out;  // none: standard output
  std::string source, locator;
  bool json = false;
};

int calibrate_served(const ServedOptions&, const std::filesystem::path& data);

}  // namespace draftline::cli
