// SPDX-License-Identifier: Apache-2.0
// The texts of the files that `calibrate` and `validate` write: a device and our decoder's engine, fitted to a measured
// file, with the fingerprints of their input files.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/calibration/calibrated_files.h"
#include "model/calibration/measured.h"

namespace draftline::measure {

struct MeasuredFile {
  Measured points;
  InputFiles files;  // the file itself
};
MeasuredFile read_points(const std::filesystem::path&);  // throws InputErrors

std::string device_text(const CalibrationInput&, const MeasuredFile&, const CalibratedDevice&);
// Requires knows_host() of the points. The device must be calibrated with the same file.
std::string engine_text(const CalibrationInput&, const MeasuredFile&, const CalibratedDevice&);

struct CalibratedFiles {
  std::string device;                 // JSON text
  std::optional<std::string> engine;  // none if the host was not measured
  std::vector<FitQuality> quality;    // errors of the fits, by op
};
// Fits a device and an engine to a measured file. `device`: "cpu" or "cuda"; the file must be of that kind.
// `datasheet`: for a GPU, the name or file of the device whose datasheet applies. `data`: the folder data/. Throws
// InputErrors.
CalibratedFiles calibrated_files(const std::filesystem::path& measured, const std::string& device,
                                 const std::string& datasheet, const std::filesystem::path& data);

}  // namespace draftline::measure
