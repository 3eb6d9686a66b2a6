// SPDX-License-Identifier: Apache-2.0
// What the op of a measured point has to do: shapes as probes name them, work as decoder/op_work counts it.
#pragma once
#include "model/calibration/measured.h"
#include "model/work.h"

namespace draftline {

// `format`: in which the device holds what is moved.
Gemm gemm_of(const MeasuredPoint&, DType format);
Attention attention_of(const MeasuredPoint&, DType format);
Span span_of(const MeasuredPoint&);  // of an attention
Copy copy_of(ElementOp, const MeasuredPoint&, DType format);

}  // namespace draftline
