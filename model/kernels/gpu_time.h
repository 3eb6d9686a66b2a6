// SPDX-License-Identifier: Apache-2.0
// How long a GPU's kernels take: GEMMs by tiles and waves (docs/explanation/kernel_model.md, form T3), attention as one
// function of the rows per sequence and of their keys, elementwise work by its bytes. The device must be a GPU.
#pragma once
#include "model/devices/attention_library.h"
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

// `l2_hit_share`: share of the weights found in L2, because an earlier kernel of the step has just read them.
Seconds gpu_time(const Device&, const Gemm&, double l2_hit_share = 0);
// Share of a GEMM's weights that is still in L2 after `bytes_between` of other traffic since their last use.
double l2_share_left(const Device&, const Gemm&, Bytes bytes_between);

// Where the keys and values of earlier steps are.
enum class CacheState {
  in_memory,  // between two passes of a layer the weights of all others went through L2
  repeated,   // a probe that runs one shape again and again finds in L2 what fits there
};
// The time of attention by the chosen fit, one of the device's. One function covers decode (one row a sequence),
// verification (2 to 64 rows over a long cache) and prefill, continuously. Where the widest sequence has several rows
// and the kernel's sequences have one row each, it is the part that they have in a launch that also computes a prompt's
// chunk.
Seconds gpu_time(const Device&, const AttentionChoice&, const Attention&, Span, CacheState);
Seconds gpu_time(const Device&, const Attention&, Span);  // by the first fit over such a cache, which lies in memory
Seconds gpu_time(const Device&, const Copy&);
Seconds gpu_time(const Device&, const ExpertMlp&);
// Without a fit of these kernels: as elementwise work.
Seconds gpu_time(const Device&, const CausalConvolution&);
Seconds gpu_time(const Device&, const DeltaRule&);

// The time of each kernel that an engine launches for an op beyond the op's first: that of an empty elementwise kernel.
Seconds launch_time(const Device&);
// The rate at which the bytes are moved that an engine adds to an op.
BytesPerSecond copy_bandwidth(const Device&);

}  // namespace draftline
