// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter: verified against plain double arithmetic first, then timed, on random data, with
// weights rotated past the last cache where they are to be cold. Each point is one tape with one op.
#pragma once
#include <functional>
#include <vector>

#include "model/measured.h"

namespace draftline {

// The shapes to time: products, attention (decode, prefill, verify under a chain and under a tree), elementwise ops, and
// reading and copying memory. `last_cache` in bytes.
std::vector<MeasuredPoint> cpu_grid(double last_cache);

// Times one point of the grid, for about `patience`; a point that can't run comes back with its reason.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds patience);

}  // namespace draftline
