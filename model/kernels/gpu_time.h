// SPDX-License-Identifier: Apache-2.0
// How long a GPU's kernels take: GEMMs by tiles and waves (docs/explanation/kernel_model.md, form T3), attention as one
// function of the rows per sequence and of the keys they meet, elementwise work by its bytes. The device must be a GPU.
#pragma once
#include "model/devices/attention_library.h"
#include "model/devices/device.h"
#include "model/work.h"

namespace draftline {

// `hot`: share of the weights found in L2.
Seconds gpu_time(const Device&, const Gemm&, double hot);

// Where the keys and values of earlier steps are.
enum class CacheState {
  cold,      // in memory: between two passes of a layer the weights of all others went through L2
  repeated,  // a probe that runs one shape again and again finds in L2 what fits there
};
// The time of attention by the chosen fit, one of the device's. Where the widest sequence has several rows and the
// kernel's sequences have one row each, it is the part that they have in a launch that also computes a prompt's chunk.
Seconds gpu_time(const Device&, const AttentionChoice&, const Attention&, Span, CacheState);
Seconds gpu_time(const Device&, const Copy&);
Seconds gpu_time(const Device&, const ExpertMlp&);
Seconds gpu_time(const Device&, const CausalConvolution&);  // of a GPU with a fit of delta networks
Seconds gpu_time(const Device&, const DeltaRule&);          // as above

}  // namespace draftline
