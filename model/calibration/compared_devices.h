// SPDX-License-Identifier: Apache-2.0
// How far two devices' predictions are from what was measured, and from each other, point by point and op by op: how
// far one laboratory's calibration is from another's.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "model/calibration/gpu_calibration.h"
#include "model/calibration/measured.h"
#include "model/devices/device.h"

namespace draftline {

struct ComparedPoint {
  std::string kind;  // the op; attention by its use: "attention, decode", "... verify", "... prefill"
  MeasuredPoint point;
  std::array<Seconds, 2> predicted;  // by the first, by the second
};
// The measured kernels that both devices predict. InputErrors if one is a CPU and the points are a GPU's, or the
// reverse.
std::vector<ComparedPoint> compare_devices(const Measured&, const Device& first, const Device& second);
// Compares the devices by tables of a GPU's kernels. A kind names the format where it is not 16 bits, and for links the
// library where it is not NCCL.
std::vector<ComparedPoint> compare_devices(const KernelTimes&, const std::filesystem::path& from, const Device& first,
                                           const Device& second);

struct ComparedKind {
  std::string kind;
  int points = 0;
  std::array<double, 2> median{}, p90{};  // |predicted / measured - 1|
  std::array<double, 2> bias{};           // predicted / measured, geometric mean
  double apart = 0, ratio = 1;            // median of |first / second - 1|; first / second, geometric mean
};
std::vector<ComparedKind> by_kind(const std::vector<ComparedPoint>&);  // in the order of their first points, then all

}  // namespace draftline
