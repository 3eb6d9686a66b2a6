// SPDX-License-Identifier: Apache-2.0
// The time of a GPU's kernels: GEMMs by tiles and waves (docs/explanation/kernel_model.md, form T3), attention as one
// function of the rows per sequence and their keys, elementwise work by its bytes. The device must be a GPU.
#pragma once
#include "model/devices/attention_library.h"
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

// `l2_hit_share`: share of the weights found in L2, because an earlier kernel of the step has just read them.
Seconds gpu_time(const Device&, const Gemm&, double l2_hit_share = 0);
// Share of a GEMM's weights that is still in L2 after `bytes_between` of other traffic since their last use.
double l2_share_left(const Device&, const Gemm&, Bytes bytes_between);

// The location of the keys and values of earlier steps.
enum class CacheState {
  in_memory,  // other layers' weights pass through L2 between two passes of a layer
  repeated,   // in a probe that repeats one shape, as much as fits is in L2
};
// The time of attention by the chosen fit of the device. One continuous function covers decode (one row per sequence),
// verification (2 to 64 rows over a long cache) and prefill. If the widest sequence has several rows and the kernel's
// sequences have one row each, it is their part of a launch that also computes a prompt's chunk.
Seconds gpu_time(const Device&, const AttentionChoice&, const Attention&, Span, CacheState);
Seconds gpu_time(const Device&, const Attention&, Span);  // by the first fit for such a cache, in memory
Seconds gpu_time(const Device&, const Copy&);
Seconds gpu_time(const Device&, const ExpertMlp&);
// Priced as elementwise work if these kernels have no fit.
Seconds gpu_time(const Device&, const CausalConvolution&);
Seconds gpu_time(const Device&, const DeltaRule&);
Seconds gpu_time(const Device&, const SelectiveScan&);
Seconds gpu_time(const Device&, const StreamMix&);

// The part of a kernel's time that does not depend on its size: its launch and its start. Of a layer of experts that is
// its first kernel's, the router's, because the others' times were measured one behind the other.
Seconds launch_part(const Device&, const Gemm&);
Seconds launch_part(const Device&, const Copy&);
Seconds launch_part(const Device&, const ExpertMlp&);
Seconds launch_part(const Device&, const CausalConvolution&);
Seconds launch_part(const Device&, const DeltaRule&);
Seconds launch_part(const Device&, const SelectiveScan&);
Seconds launch_part(const Device&, const StreamMix&);
Seconds launch_part(const Device&, const AttentionChoice&);

// The time of a kernel in sustained work, from its time at full clock and its work. `operands`: the wider format.
Seconds at_power_limit(const Device&, const Work&, DType operands, Seconds at_full_clock);

// The time of each further kernel that an engine launches for an op: that of an empty elementwise kernel.
Seconds launch_time(const Device&);
// The rate of moving the bytes that an engine adds to an op.
BytesPerSecond copy_bandwidth(const Device&);

}  // namespace draftline
