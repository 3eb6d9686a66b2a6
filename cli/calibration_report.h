// SPDX-License-Identifier: Apache-2.0
// The text output of `calibrate`: the errors of the fits, the costs of the host, and a comparison of two devices.
#pragma once
#include <ostream>

#include "model/calibration/calibrated_files.h"
#include "model/calibration/compared_devices.h"

namespace draftline::cli {

// `width`: columns of the terminal; 0: no limit.
void print_quality(std::ostream&, const std::vector<FitQuality>&, std::size_t width);  // a table, a row for each op
void print_regimes(std::ostream&, const std::vector<FitQuality>&, std::size_t width);  // of attention, if any
void print_warnings(std::ostream&, const std::vector<FitQuality>&);
void print_excluded_rows(std::ostream&,
                         const CalibratedDevice&);  // rows of tables that no fit uses, and transferred fits
void print_gpu_host(std::ostream&, const Measured&, const std::optional<LayerFit>&,
                    std::size_t width);  // host costs of a GPU's decoder
// Errors of two devices' predictions on the same measured points; `first` and `second` are their names.
void print_comparison(std::ostream&, const std::vector<ComparedPoint>&, const std::string& first,
                      const std::string& second, std::size_t width);
// Writes a row for each point, with times in seconds. Throws InputErrors and OutputError (core/text_file).
void write_comparison_csv(const std::filesystem::path&, const std::vector<ComparedPoint>&, const std::string& first,
                          const std::string& second);

}  // namespace draftline::cli
