// SPDX-License-Identifier: Apache-2.0
// The kernels of one decode step and their predicted times, to find the cause of a bias. Equal kernels are one entry.
#pragma once
#include <string>
#include <vector>

#include "predict/pricer.h"

namespace draftline {

struct KernelTime {
  Phase phase = Phase::verify;
  std::string op, shape;  // op: its op_key(); shape: "4 x 4096 x 6144 bf16": rows, in, out and the weights' format
  int count = 0;          // in a step
  Seconds time;           // of all of them on the device
  Work work;              // of all of them, by model/work
};

// The kernels of a step in order of their first launch, at the context in the middle of the output. They add up to the
// device's time of that step, which overlaps with the host's. The point must fit the device.
std::vector<KernelTime> kernel_times(Pricer&, const Setup&, const MethodChoice&);

}  // namespace draftline
