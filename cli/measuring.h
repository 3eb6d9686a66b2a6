// SPDX-License-Identifier: Apache-2.0
// What `probe` and `calibrate` do, for `validate` to do as well: a measured file, and from it a device and an engine.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/fit_quality.h"

namespace draftline::cli {

struct ProbeOptions {
  std::string device = "cpu", grid = "full";
  std::filesystem::path out = "measured.json";
  std::optional<double> seconds;  // none: 80 on a CPU, 150 on a GPU
  std::optional<double>
      wait;  // for others to leave a CPU's core; none: three quarters of `seconds`, 0 on the small grid
};
// Writes the measured file, or completes it; false: Ctrl-C came first, what is measured is kept.
bool probe_into(const ProbeOptions&);

struct CalibratedFiles {
  std::string device, engine;  // JSON texts; engine: empty where nothing was measured of the host
  std::vector<FitQuality> quality;
};
// `device`: which it must be of. `datasheet`: of a GPU, the device or device file whose datasheet holds. `data`: the
// folder.
CalibratedFiles calibrate_files(const std::filesystem::path& measured, const std::string& device,
                                const std::string& datasheet, const std::filesystem::path& data);

}  // namespace draftline::cli
