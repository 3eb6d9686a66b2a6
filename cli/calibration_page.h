// SPDX-License-Identifier: Apache-2.0
// The report of `draftline calibrate` as a page: the errors of the fits on held-out shapes, and each measured kernel
// against its prediction.
#pragma once
#include <vector>

#include "model/calibration/calibrated_files.h"
#include "model/calibration/compared_devices.h"
#include "reports/output.h"

namespace draftline::cli {

// `points`: with this calibration's predictions as the second.
void write_calibration_page(const Output&, const CalibratedDevice&, const std::vector<ComparedPoint>& points);

}  // namespace draftline::cli
