// SPDX-License-Identifier: Apache-2.0
// Fits the CPU form to a measured file: log time, soft-L1 loss, weak priors (docs/explanation/kernel_model.md, "The
// CPU"), and reports its errors on held-out shapes.
#pragma once
#include <vector>

#include "model/calibration/measured.h"
#include "model/devices/fit_quality.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

struct CpuCalibration {
  CpuModel fit;
  std::vector<FitQuality> quality;      // gemm, attention, each elementwise op
  FitQuality elements;                  // all elementwise ops together
  double read_bandwidth = 0, peak = 0;  // bytes/s from memory, best FLOP/s of a GEMM
};

Seconds predicted(const CpuModel&, const MeasuredPoint&);  // of gemm, attention or an elementwise op, repeated

// InputErrors if a needed kind of point is missing.
CpuCalibration calibrate_cpu(const Measured&);

}  // namespace draftline
