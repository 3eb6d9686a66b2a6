// SPDX-License-Identifier: Apache-2.0
// The shapes that `draftline probe --device cuda` times: products, attention (decode, prefill, verification of 1 to 64 rows
// under a chain and under a tree), elementwise ops, reading and copying memory, and what the host pays for launches and waits.
#pragma once
#include <vector>

#include "model/measured.h"
#include "probes/cpu_grid.h"

namespace draftline {

// `l2` in bytes: products rotate through so many copies of their weights that none is found there.
std::vector<MeasuredPoint> cuda_grid(double l2, GridSize = GridSize::full);

}  // namespace draftline
