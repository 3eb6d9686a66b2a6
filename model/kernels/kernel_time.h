// SPDX-License-Identifier: Apache-2.0
// The time of a kernel on a device: calibrated rooflines with tiles, waves and caches
// (docs/explanation/kernel_model.md).
#pragma once
#include "model/devices/device.h"
#include "model/transformers/precision.h"
#include "model/work.h"

namespace draftline {

// (x^p + y^p)^(1/p): a smooth maximum.
double smooth_max(double x, double y, double p);

// The rate of matrix products of these operands: that of the wider format. A format without a rate is widened to 16
// bits first. Thus 8-bit weights always save bytes, but save arithmetic time only if activations also have 8 bits.
FlopsPerSecond matrix_rate(const Device&, DType weights, DType activations);

// The precision in which a device serves a network. If the device has no arithmetic for quantised inputs, products use
// unquantised activations and widen weights while reading them, like engines' weight-only kernels.
Precision served_precision(Precision, const Device&);

// The time by the form for GPUs or CPUs (gpu_time.h, cpu_time.h), with weights and KV cache in memory.
Seconds kernel_time(const Device&, const Gemm&);
Seconds kernel_time(const Device&, const Attention&, Span);
Seconds kernel_time(const Device&, const Copy&);
Seconds kernel_time(const Device&, const ExpertMlp&);
Seconds kernel_time(const Device&, const CausalConvolution&);
Seconds kernel_time(const Device&, const DeltaRule&);
Seconds kernel_time(const Device&, const SelectiveScan&);
Seconds kernel_time(const Device&, const StreamMix&);

}  // namespace draftline
