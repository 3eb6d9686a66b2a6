// SPDX-License-Identifier: Apache-2.0
// What `probe` and `calibrate` do, for `validate` to do as well: a measured file, and from it a device and an engine.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/engine_fit.h"
#include "model/fit_quality.h"

namespace draftline::cli {

struct ProbeOptions {
  std::string device = "cpu", grid = "full";
  std::filesystem::path out = "measured.json";
  std::optional<double> seconds;  // none: 80 on a CPU, 150 on a GPU
};
// Writes the measured file, or completes it; false: Ctrl-C came first, what is measured is kept.
bool probe_into(const ProbeOptions&);

struct CpuFiles {
  std::string device, engine;  // JSON texts; engine: empty where nothing was measured of the host
  std::vector<FitQuality> quality;
  HostFit host;
};
CpuFiles calibrate_cpu_files(const std::filesystem::path& measured, const std::string& source,
                             const std::string& locator);

}  // namespace draftline::cli
