// SPDX-License-Identifier: Apache-2.0
// The fits of products, experts and convolutions that hold for an engine: an engine's profile names a library
// ("kernels"), and a device's file has the fits of libraries that were measured ("libraries").
#pragma once
#include <string_view>

#include "model/devices/device.h"

namespace draftline {

// Whether the library's kernels are priced otherwise than by the device's own fits.
bool has_library_fits(const Device&, std::string_view library);

// The device with the fits of a library in place of its own, as far as it has them, and without alternatives. Kernels
// that unpack 4-bit weights are a library's own (Marlin's are those of vLLM and SGLang, whose profiles name none): with
// a library for which the device has none, such weights have no fit. The device itself for an empty name and a CPU.
Device with_library_fits(Device, std::string_view library);

// The device with the fits of a library's experts in place of its own, as far as it has them. The device itself for an
// empty name and a CPU.
bool has_expert_fits(const Device&, std::string_view library);
Device with_expert_fits(Device, std::string_view library);

}  // namespace draftline
