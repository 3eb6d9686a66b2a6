// SPDX-License-Identifier: Apache-2.0
// What `calibrate` says beside its files: how good the fits are, what the host costs, and two devices over the same
// points.
#pragma once
#include <ostream>

#include "model/calibrated_files.h"
#include "model/compared_devices.h"

namespace draftline::cli {

// `width`: of the terminal, 0: no limit.
void print_quality(std::ostream&, const std::vector<FitQuality>&, std::size_t width);
void print_warnings(std::ostream&, const std::vector<FitQuality>&);
void print_gpu_host(std::ostream&, const Measured&, std::size_t width);
void print_comparison(std::ostream&, const std::vector<ComparedPoint>&, const std::string& first,
                      const std::string& second, std::size_t width);
void write_comparison_csv(const std::filesystem::path&, const std::vector<ComparedPoint>&, const std::string& first,
                          const std::string& second);

}  // namespace draftline::cli
