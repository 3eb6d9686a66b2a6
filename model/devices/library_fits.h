// SPDX-License-Identifier: Apache-2.0
// The fits of products and experts that hold for an engine: an engine's profile names a library ("kernels"), and a
// device's file has the fits of libraries that were measured ("libraries").
#pragma once
#include <string_view>

#include "model/devices/device.h"

namespace draftline {

bool has_library_fits(const Device&, std::string_view library);

// The device with the fits of a library in place of its own, as far as it has them, and without alternatives; the
// device itself for a library that was not measured on it, for an empty name, and for a CPU.
Device with_library_fits(Device, std::string_view library);

}  // namespace draftline
