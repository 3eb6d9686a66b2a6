// SPDX-License-Identifier: Apache-2.0
// The datasheet of a device's file: blocks of values, each with its source.
#pragma once
#include "model/devices/device.h"

namespace draftline {

// Every value must be given once, in any block. Mistakes are noted at their places.
void read_datasheet(const Reader& blocks, Device&);

}  // namespace draftline
