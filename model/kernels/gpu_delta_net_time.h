// SPDX-License-Identifier: Apache-2.0
// The time of a GPU's kernels of gated delta networks by a given fit (docs/explanation/kernel_model.md, "Delta
// networks"). `resident`: the bytes that may be in L2 in a probe that repeats one shape; 0: all from memory.
#pragma once
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

Seconds delta_net_time(const DeltaNetFit&, const Device& datasheet, const CausalConvolution&, Bytes resident = {});
Seconds delta_net_time(const DeltaNetFit&, const Device& datasheet, const DeltaRule&, Bytes resident = {});

}  // namespace draftline
