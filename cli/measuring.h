// SPDX-License-Identifier: Apache-2.0
// The functions of `probe` and `calibrate` that `validate` also uses: measuring a machine, and fitting a device and an
// engine to the measurements.
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
  std::optional<double> seconds;  // time budget; none: 80 on a CPU, 150 on a GPU
  // Seconds to wait for other programs to leave a CPU core; none: three quarters of `seconds`, 0 on the small grid.
  std::optional<double> wait;
};
// Measures this machine and writes the measured file, or completes it if it exists. Returns false if Ctrl-C interrupted
// it; measured points are kept. Throws InputErrors if the file is of another machine or program, and DeviceError.
bool probe_into(const ProbeOptions&);

struct CalibratedFiles {
  std::string device, engine;       // JSON texts; `engine` is "" if the host was not measured
  std::vector<FitQuality> quality;  // errors of the fits, by op
};
// Fits a device and an engine to a measured file. `device`: "cpu" or "cuda", which the file must be of. `datasheet`:
// for a GPU, the name or file of the device whose datasheet applies. `data`: the folder data/. Throws InputErrors.
CalibratedFiles calibrate_files(const std::filesystem::path& measured, const std::string& device,
                                const std::string& datasheet, const std::filesystem::path& data);

}  // namespace draftline::cli
