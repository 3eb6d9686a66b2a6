// SPDX-License-Identifier: Apache-2.0
// The time of a kernel on a device: calibrated rooflines with tiles, waves and caches
// (docs/explanation/kernel_model.md).
#pragma once
#include "model/devices/device.h"
#include "model/transformers/precision.h"
#include "model/work.h"

namespace draftline {

// (x^p + y^p)^(1/p): a maximum with a round corner.
double smooth_max(double x, double y, double p);

// The rate of matrix products of these operands: that of the wider format. A format without a rate of its own is
// widened to 16 bits first. So 8-bit weights save bytes, and they save time of arithmetic only where activations have 8
// bits too.
FlopsPerSecond matrix_rate(const Device&, DType weights, DType activations);

// The precision in which a device serves a network. Where the device has no arithmetic for quantised inputs, products
// take the activations as they are and weights are widened as they are read, as engines' weight-only kernels do.
Precision served_precision(Precision, const Device&);

// By the form of the device's kind (gpu_time.h, cpu_time.h), with weights and a KV cache in memory.
Seconds kernel_time(const Device&, const Gemm&);
Seconds kernel_time(const Device&, const Attention&, Span);
Seconds kernel_time(const Device&, const Copy&);
Seconds kernel_time(const Device&, const ExpertMlp&);
Seconds kernel_time(const Device&, const CausalConvolution&);
Seconds kernel_time(const Device&, const DeltaRule&);

}  // namespace draftline
