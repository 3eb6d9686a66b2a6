// SPDX-License-Identifier: Apache-2.0
// The time of a GPU's kernels of several residual streams by a given fit (docs/explanation/kernel_model.md, "Residual
// streams"). `resident`: as of stream_time().
#pragma once
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

Seconds stream_mix_time(const ResidualStreamsFit&, const Device& datasheet, const StreamMix&, Bytes resident = {});

}  // namespace draftline
