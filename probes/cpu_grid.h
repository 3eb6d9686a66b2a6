// SPDX-License-Identifier: Apache-2.0
// The shapes that `draftline probe --device cpu` times: GEMMs, attention (decode, prefill, verification of a chain and
// of a tree), elementwise ops, and reading and copying memory.
#pragma once
#include <vector>

#include "model/calibration/measured.h"

namespace draftline {

// full: minutes. small: seconds, with just enough points for a calibration that shows that a machine can be probed.
enum class GridSize { full, small };

// `last_level_cache`: its size in bytes, past which weights and caches are cold.
std::vector<MeasuredPoint> cpu_grid(double last_level_cache, GridSize = GridSize::full);

}  // namespace draftline
