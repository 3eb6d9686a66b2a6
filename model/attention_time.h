// SPDX-License-Identifier: Apache-2.0
// Time of attention: decode, verify and prefill are one function of the rows per sequence and of the keys they meet.
#pragma once
#include "model/device.h"
#include "model/work.h"

namespace draftline {

// Where the keys and values of earlier steps are.
enum class CacheState {
  cold,      // in memory: between two passes of a layer the weights of all others went through L2
  repeated,  // a probe that runs one shape again and again finds in L2 what fits there
};
Seconds attention_time(const Device&, const Attention&, Span, CacheState);

}  // namespace draftline
