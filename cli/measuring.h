// SPDX-License-Identifier: Apache-2.0
// The functions of `probe` and `calibrate` that `validate` also uses: measuring a machine, and fitting a device and an
// engine to the measurements.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/probing.h"
#include "model/devices/fit_quality.h"

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
std::unique_ptr<measure::ProbedDevice> probed_gpu(GridSize);  // throws DeviceError if there is none
// Shows progress as a bar on standard error, listens to Ctrl-C and says sentences on standard error.
measure::Watcher watcher_with_bar(const std::string& title);

struct CalibratedFiles {
  std::string device, engine;       // JSON texts; `engine` is "" if the host was not measured
  std::vector<FitQuality> quality;  // errors of the fits, by op
};
// Fits a device and an engine to a measured file. `device`: "cpu" or "cuda", which the file must be of. `datasheet`:
// for a GPU, the name or file of the device whose datasheet applies. `data`: the folder data/. Throws InputErrors.
CalibratedFiles calibrate_files(const std::filesystem::path& measured, const std::string& device,
                                const std::string& datasheet, const std::filesystem::path& data);

}  // namespace draftline::cli
