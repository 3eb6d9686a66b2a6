// SPDX-License-Identifier: Apache-2.0
// A device of data/devices, by its name.
#pragma once
#include "model/device.h"

namespace draftline {

inline Device known_device(const std::string& name) {
  return read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/devices" / (name + ".json"),
                   [](const Reader& in) { return read_device(in); });
}

}  // namespace draftline
