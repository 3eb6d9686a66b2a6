// SPDX-License-Identifier: Apache-2.0
// A device of data/devices or an engine of data/engines, by its name.
#pragma once
#include "model/devices/device.h"
#include "model/engines/engine.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

inline Device known_device(const std::string& name) {
  return read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/devices" / (name + ".json"),
                   [](const Reader& in) { return read_device(in); });
}

// The plain roofline of the datasheet, without calibration.
inline Seconds roofline_time(const Device& d, const Work& w, DType t) {
  return std::max(w.flops / matrix_rate(d, t, t), w.bytes() / d.bandwidth);
}

inline Engine known_engine(const std::string& name) {
  return read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/engines" / (name + ".json"), read_engine);
}

}  // namespace draftline
