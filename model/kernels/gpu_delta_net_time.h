// SPDX-License-Identifier: Apache-2.0
// The time of a GPU's kernels of gated delta networks and state spaces by a given fit
// (docs/explanation/kernel_model.md, "Delta networks"). `resident`: as of stream_time().
#pragma once
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

Seconds delta_net_time(const DeltaNetFit&, const Device& datasheet, const CausalConvolution&, Bytes resident = {});
Seconds delta_net_time(const DeltaNetFit&, const Device& datasheet, const DeltaRule&, Bytes resident = {});
Seconds state_space_time(const StateSpaceFit&, const Device& datasheet, const CausalConvolution&, Bytes resident = {});

}  // namespace draftline
