// SPDX-License-Identifier: Apache-2.0
// The time of a kernel on a device: calibrated rooflines with tiles, waves and caches
// (docs/explanation/kernel_model.md).
#pragma once
#include <limits>

#include "model/devices/attention_library.h"
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

// `hot`: share of the weights found in L2, because an earlier kernel of the step has just read them (0: all from
// memory).
Seconds kernel_time(const Device&, const Gemm&, double hot = 0);
// One function covers decode (one row a sequence), verification (2 to 64 rows over a long cache) and prefill,
// continuously. `distance`: the reuse distance of the keys and values of earlier steps, which a CPU's caches may still
// hold. `choice`: one of a GPU's fits; if it is not chosen, the device's first over such a cache.
Seconds kernel_time(const Device&, const Attention&, Span,
                    const ReuseDistance& distance = {Bytes{std::numeric_limits<double>::infinity()}, {}},
                    AttentionChoice choice = {});
Seconds kernel_time(const Device&, const Copy&, const ReuseDistance& distance = {});  // `distance`: of its old lines
Seconds kernel_time(const Device&, const ExpertMlp&);
// A device without a fit of these kernels prices them as elementwise work that moves as many bytes.
Seconds kernel_time(const Device&, const CausalConvolution&);
Seconds kernel_time(const Device&, const DeltaRule&);

// The time of each kernel that an engine launches for an op beyond the op's first: that of an empty elementwise kernel.
// A CPU launches nothing.
Seconds launch_time(const Device&);
// The rate at which a device moves the bytes that an engine adds to an op.
BytesPerSecond copy_bandwidth(const Device&);

// Share of a GEMM's weights that is still in a GPU's L2 after `distance` bytes of other traffic since their last use.
double l2_share_left(const Device&, const Gemm&, Bytes distance);

// The plain datasheet roofline of the same work, without calibration.
Seconds roofline_time(const Device&, const Work&, DType);

}  // namespace draftline
