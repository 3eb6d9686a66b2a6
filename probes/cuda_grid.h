// SPDX-License-Identifier: Apache-2.0
// The shapes that `draftline probe --device cuda` times: products, attention (decode, prefill, verification of 1 to 64 rows
// under a chain and under a tree), elementwise ops, choosing and drawing tokens, memory, sums over several GPUs, what the
// host pays for launches and waits, and the steps of a small decoder.
#pragma once
#include <vector>

#include "model/measured.h"
#include "probes/cpu_grid.h"

namespace draftline {

// `l2` in bytes: products rotate through so many copies of their weights that none is found there. With one device, a sum over
// two stands for all that can't run.
std::vector<MeasuredPoint> cuda_grid(double l2, GridSize = GridSize::full, int devices = 1);

// What a point takes beside its samples: data made, results checked, algorithms chosen. A guess, for the time left.
Seconds expected_overhead(const MeasuredPoint&);

}  // namespace draftline
