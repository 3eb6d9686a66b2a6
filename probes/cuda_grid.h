// SPDX-License-Identifier: Apache-2.0
// The shapes that `draftline probe --device cuda` times: GEMMs, attention (decode, prefill, verification of chains and
// trees of 2 to 64 rows), elementwise ops, choosing and drawing tokens, memory, all-reduces over several GPUs, the
// host's launches and waits, and the steps of a small decoder.
#pragma once
#include <vector>

#include "model/calibration/measured.h"
#include "probes/cpu_grid.h"

namespace draftline {

// `l2`: its size in bytes; GEMMs rotate through so many copies of their weights that none is found there. On one
// device, a single all-reduce over two ranks stands for all that can't run.
std::vector<MeasuredPoint> cuda_grid(double l2, GridSize = GridSize::full, int devices = 1);

// A guess of the time that a point takes besides its samples: to make data, check results and choose algorithms. It
// serves estimates of the time left.
Seconds expected_overhead(const MeasuredPoint&);

}  // namespace draftline
