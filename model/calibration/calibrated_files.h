// SPDX-License-Identifier: Apache-2.0
// The files that `calibrate` writes: a device, and the profile of our own decoder's host, as JSON with the certificate
// of every fitted value.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "model/calibration/engine_fit.h"
#include "model/calibration/excluded_rows.h"
#include "model/calibration/gpu_calibration.h"
#include "model/calibration/layer_fit.h"
#include "model/devices/fit_quality.h"

namespace draftline {

using OrderedJson = nlohmann::ordered_json;

struct CalibrationInput {
  std::filesystem::path measured;  // a file of `probe`, or a folder of kernel tables (model/calibration/table_folder)
  std::filesystem::path data;      // the folder data/
  std::string device;              // of a GPU: whose datasheet holds, a name or a file
  std::string transformer;         // of step tables: a name, a file, or a folder with a config.json
  int tensor_parallel = 1;         // devices that shared each layer when step tables were measured
  std::string library;             // of a GPU's products and experts (LibraryFits); empty: the device's own fits
  std::string source = "draftline-probe", locator;
};

struct CalibratedDevice {
  OrderedJson device;
  std::vector<FitQuality> quality;
  std::vector<FitQuality> regimes = {};  // of a GPU's attention: parts of its quality
  InputFiles input_files = {};  // besides the measured file: tables, the datasheet, relatives whose fits are used
  KernelTimes times = {};       // of a GPU
  std::vector<TableRows> tables = {};         // what of them is used, and what not
  std::vector<std::string> transferred = {};  // fits that were neither measured nor in the file of --device, and whose
};
// Calibrates a device by a measured file. For a GPU a datasheet is enough beside it: fits that are neither measured nor
// in the datasheet's file are those of the shipped device that is most like it, and are marked so.
CalibratedDevice calibrated_device(const CalibrationInput&, const Measured&);
CalibratedDevice calibrated_gpu(const CalibrationInput&, const Measured&);  // of a GPU's measured file
CalibratedDevice calibrated_from_tables(const CalibrationInput&);

// knows_host(): whether a measured file, of a CPU or a GPU, has the points from which calibrated_engine() makes the
// profile of our decoder's host. The device was calibrated by the same file.
bool knows_host(const Measured&);
OrderedJson calibrated_engine(const CalibrationInput&, const Measured&, const CalibratedDevice&);
// What a layer on a GPU takes beyond its kernels; none: no layer was measured.
std::optional<LayerFit> fit_layer(const CalibrationInput&, const Measured&, const CalibratedDevice&);

std::string text_of(const OrderedJson&);  // indented, but lists of numbers, and what is short, on one line
std::filesystem::path shipped_engine(const std::filesystem::path& data);  // whose rows say how our decoder cuts ops
// The file of a known name, or the file itself.
std::filesystem::path named_or_file(const std::string& name, const std::filesystem::path& folder);
std::filesystem::path network_file(const std::string& name, const std::filesystem::path& folder);  // or of a checkpoint
Device device_of(const std::filesystem::path& file, const std::filesystem::path& shipped);

std::string in_ns(Seconds);

}  // namespace draftline
